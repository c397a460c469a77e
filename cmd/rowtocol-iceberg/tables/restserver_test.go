package tables

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"
)

// restServer serves a catalog by the REST protocol, as far as a sync needs it.
type restServer struct {
	catalog catalog.Catalog
	// fault is called before each request, and after it if done is true. If it returns true,
	// it answered the request.
	fault func(w http.ResponseWriter, r *http.Request, done bool) bool

	mu     sync.Mutex
	tokens int // tokens that were issued
}

func (f *fixture) serve() (*restServer, Options) {
	f.t.Helper()
	sql := f.options("sql")
	s := &restServer{catalog: f.open(sql).Catalog, fault: func(http.ResponseWriter, *http.Request, bool) bool { return false }}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/config", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, map[string]any{"defaults": map[string]string{"prefix": "main"}, "overrides": map[string]string{}})
	})
	mux.HandleFunc("POST /v1/oauth/tokens", s.token)
	mux.HandleFunc("HEAD /v1/main/namespaces/{ns}", s.namespace)
	mux.HandleFunc("GET /v1/main/namespaces/{ns}", s.namespace)
	mux.HandleFunc("POST /v1/main/namespaces", s.createNamespace)
	mux.HandleFunc("POST /v1/main/namespaces/{ns}/tables", s.create)
	mux.HandleFunc("GET /v1/main/namespaces/{ns}/tables/{name}", s.load)
	mux.HandleFunc("POST /v1/main/namespaces/{ns}/tables/{name}", s.commit)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.fault(w, r, false) {
			return
		}
		recorder := httptest.NewRecorder()
		mux.ServeHTTP(recorder, r)
		if s.fault(w, r, true) {
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(recorder.Code)
		_, _ = w.Write(recorder.Body.Bytes())
	}))
	f.t.Cleanup(server.Close)
	o := sql
	o.Catalog.Kind, o.Catalog.URI, o.Catalog.Warehouse = "rest", server.URL, ""
	return s, o
}

func answer(w http.ResponseWriter, code int, v any) {
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(v)
}

// fail answers with an error of the catalog.
func fail(w http.ResponseWriter, err error) {
	code := http.StatusConflict // a requirement that does not hold
	if errors.Is(err, catalog.ErrNoSuchTable) || errors.Is(err, catalog.ErrNoSuchNamespace) {
		code = http.StatusNotFound
	}
	answer(w, code, map[string]any{"error": map[string]any{"message": err.Error(), "type": "Exception", "code": code}})
}

func name(r *http.Request) table.Identifier {
	return catalog.ToIdentifier(r.PathValue("ns"), r.PathValue("name"))
}

func (s *restServer) token(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	s.tokens++
	s.mu.Unlock()
	answer(w, http.StatusOK, map[string]any{"access_token": "secret", "token_type": "bearer", "expires_in": 3600})
}

func (s *restServer) namespace(w http.ResponseWriter, r *http.Request) {
	ns := catalog.ToIdentifier(r.PathValue("ns"))
	if ok, err := s.catalog.CheckNamespaceExists(r.Context(), ns); !ok || err != nil {
		fail(w, errors.Join(catalog.ErrNoSuchNamespace, err))
		return
	}
	answer(w, http.StatusOK, map[string]any{"namespace": ns, "properties": map[string]string{}})
}

func (s *restServer) createNamespace(w http.ResponseWriter, r *http.Request) {
	var asked struct{ Namespace table.Identifier }
	err := json.NewDecoder(r.Body).Decode(&asked)
	if err == nil {
		err = s.catalog.CreateNamespace(r.Context(), asked.Namespace, nil)
	}
	if err != nil {
		fail(w, err)
		return
	}
	answer(w, http.StatusOK, map[string]any{"namespace": asked.Namespace, "properties": map[string]string{}})
}

func (s *restServer) create(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		Name   string
		Schema *iceberg.Schema
		Spec   iceberg.PartitionSpec `json:"partition-spec"`
		Props  iceberg.Properties    `json:"properties"`
	}
	err := json.NewDecoder(r.Body).Decode(&asked)
	var t *table.Table
	if err == nil {
		t, err = s.catalog.CreateTable(r.Context(), catalog.ToIdentifier(r.PathValue("ns"), asked.Name), asked.Schema,
			catalog.WithPartitionSpec(&asked.Spec), catalog.WithProperties(asked.Props))
	}
	s.table(w, t, err)
}

func (s *restServer) load(w http.ResponseWriter, r *http.Request) {
	t, err := s.catalog.LoadTable(r.Context(), name(r))
	s.table(w, t, err)
}

func (s *restServer) table(w http.ResponseWriter, t *table.Table, err error) {
	if err != nil {
		fail(w, err)
		return
	}
	answer(w, http.StatusOK, map[string]any{"metadata-location": t.MetadataLocation(), "metadata": t.Metadata(), "config": map[string]string{}})
}

func (s *restServer) commit(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		Requirements table.Requirements
		Updates      table.Updates
	}
	err := json.NewDecoder(r.Body).Decode(&asked)
	var m table.Metadata
	var location string
	if err == nil {
		m, location, err = s.catalog.CommitTable(r.Context(), name(r), asked.Requirements, asked.Updates)
	}
	if err != nil {
		fail(w, err)
		return
	}
	answer(w, http.StatusOK, map[string]any{"metadata-location": location, "metadata": m})
}
