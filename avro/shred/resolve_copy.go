package shred

import "slices"

// simplify finds the types whose data is copied unchanged. It first assumes that all types
// are copied, and then removes types with a part that is not copied. So recursive types can
// be copied too.
func (m *matcher) simplify() {
	copied := make(map[*action]bool, len(m.all))
	wholes := make(map[*action][]*action, len(m.all))
	for _, a := range m.all {
		copied[a] = true
		for part := range a.parts {
			wholes[part] = append(wholes[part], a)
		}
	}
	for todo := slices.Clone(m.all); len(todo) > 0; {
		a := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		same := copied[a] && a.copies(copied)
		exact := a.exact && same && a.partsExact()
		if same == copied[a] && exact == a.exact {
			continue
		}
		for _, whole := range wholes[a] {
			if copied[whole] && !same || whole.exact {
				todo = append(todo, whole)
			}
		}
		copied[a], a.exact = same, exact
	}
	for _, a := range m.all {
		if copied[a] {
			a.code = resolveCopy
		}
	}
}

// parts yields the actions of the parts of an action. For a branch, which has no bytes of its
// own, it yields the actions of the branch's parts.
func (a *action) parts(yield func(*action) bool) {
	if a.sub != nil && !yield(a.sub) {
		return
	}
	for _, f := range a.fields {
		if f.sub != nil && !yield(f.sub) {
			return
		}
	}
	for _, b := range a.branches {
		if b.sub != nil && !yield(b.sub) {
			return
		}
	}
}

// copies reports whether data is copied unchanged. copied says which parts are.
func (a *action) copies(copied map[*action]bool) bool {
	switch a.code {
	case resolveCopy:
		return true
	case resolveInOrder:
		return len(a.literal) == 0 && !slices.ContainsFunc(a.fields, func(f fieldAction) bool {
			return f.sub == nil || len(f.literal) > 0 || !copied[f.sub]
		})
	case resolveItems:
		return copied[a.sub]
	case resolveBranch:
		for i, b := range a.branches {
			if b.code != resolveIndex || b.index != i || !copied[b.sub] {
				return false
			}
		}
		return true
	}
	return false
}

// partsExact reports whether all parts of a copied action are exact.
func (a *action) partsExact() bool {
	for part := range a.parts {
		if !part.exact {
			return false
		}
	}
	return true
}
