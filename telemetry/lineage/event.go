package lineage

import (
	"cmp"
	"time"

	"github.com/rowtocol/rowtocol/telemetry/report"
)

// Event is a run event of OpenLineage.
type Event struct {
	Type      string    `json:"eventType"`
	Time      string    `json:"eventTime"`
	Producer  string    `json:"producer"`
	SchemaURL string    `json:"schemaURL"`
	Run       run       `json:"run"`
	Job       job       `json:"job"`
	Inputs    []dataset `json:"inputs"`
	Outputs   []dataset `json:"outputs"`
}

type run struct {
	ID     string            `json:"runId"`
	Facets map[string]facets `json:"facets,omitempty"`
}

type job struct {
	Namespace string            `json:"namespace"`
	Name      string            `json:"name"`
	Facets    map[string]facets `json:"facets,omitempty"`
}

type dataset struct {
	Namespace    string            `json:"namespace"`
	Name         string            `json:"name"`
	Facets       map[string]facets `json:"facets,omitempty"`
	InputFacets  map[string]facets `json:"inputFacets,omitempty"`
	OutputFacets map[string]facets `json:"outputFacets,omitempty"`
}

// facets are the fields of one facet, including those that name its producer and definition.
type facets map[string]any

const (
	producer = "https://github.com/rowtocol/rowtocol"
	spec     = "https://openlineage.io/spec/"
	events   = spec + "2-0-2/OpenLineage.json#/$defs/RunEvent"
)

// facet adds the producer and the definition to the fields of a facet.
func facet(version, definition string, fields facets) facets {
	fields["_producer"] = producer
	fields["_schemaURL"] = spec + "facets/" + version + "/" + definition + ".json#/$defs/" + definition
	return fields
}

// maxMessage bounds the message of an error, in bytes.
const maxMessage = 4 << 10

// Start returns the event of a run that begins. named are the inputs as the user named
// them, with their authorities.
func Start(r *report.Run, named []string) *Event {
	e := &Event{
		Type: "START", Time: timestamp(r.Began), Producer: producer, SchemaURL: events,
		Run: run{ID: RunID(r.ID), Facets: map[string]facets{
			"processing_engine": facet("1-1-1", "ProcessingEngineRunFacet", facets{"name": "rowtocol", "version": r.Version}),
		}},
		Job: job{Namespace: namespace("rowtocol"), Name: r.Command, Facets: map[string]facets{
			"jobType": facet("2-0-4", "JobTypeJobFacet", facets{"processingType": "BATCH", "integration": "ROWTOCOL", "jobType": "COMMAND"}),
		}},
		Inputs: datasets(named), Outputs: []dataset{},
	}
	if p := parent(); p != nil {
		e.Run.Facets["parent"] = p
	}
	if r.JobName != "" {
		e.Job.Name = r.JobName
	} else if r.Dest != "" {
		e.Job.Name += " " + absolute(r.Dest)
	}
	if r.Dest != "" {
		out := datasetOf(absolute(cmp.Or(r.ResolvedDest, r.Dest)))
		if r.Table != "" {
			out = dataset{Namespace: r.Catalog, Name: r.Table}
		}
		e.Outputs = append(e.Outputs, out)
	}
	return e
}

// End returns the event of a run that has ended. The event has figures, unless the run failed
// before it committed anything. failure is the message of the error that ended the run, or
// empty.
func End(r *report.Run, named []string, failure string) *Event {
	e := Start(r, named)
	e.Time = timestamp(r.Ended)
	switch {
	case r.Succeeded():
		e.Type = "COMPLETE"
	case r.Status == "detached":
		e.Type = "COMPLETE" // the run only had to start its tasks
		if r.OutputID == "" {
			e.Outputs = []dataset{} // another run makes the output
		}
	case r.Status == "interrupted":
		e.Type = "ABORT"
	default:
		e.Type = "FAIL"
	}
	if failure != "" {
		e.Run.Facets["errorMessage"] = facet("1-0-1", "ErrorMessageRunFacet", facets{
			"message": shorten(failure, maxMessage), "programmingLanguage": "GO",
		})
	}
	if !r.Succeeded() && r.OutputID == "" {
		return e
	}
	if r.Table == "" { // a table reads no rows
		addStatistics(e.Inputs, r.Inputs)
	}
	if len(e.Outputs) > 0 {
		out := &e.Outputs[0]
		out.OutputFacets = map[string]facets{"outputStatistics": facet("1-0-2", "OutputStatisticsOutputDatasetFacet", facets{
			"rowCount": r.Rows, "size": r.Bytes, "fileCount": r.Files,
		})}
		if fields := fieldsOf(r.Schema); fields != nil {
			out.Facets = map[string]facets{"schema": facet("1-2-0", "SchemaDatasetFacet", facets{"fields": fields})}
		}
	}
	return e
}

func timestamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }
