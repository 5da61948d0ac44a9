// SPDX-License-Identifier: Apache-2.0

package view

// Merge copies the fields of patch that are not empty to e. A status does not go back.
func (e *Entity) Merge(patch *Entity) {
	text := func(field *string, value string) {
		if value != "" {
			*field = value
		}
	}
	text(&e.Title, patch.Title)
	text(&e.Name, patch.Name)
	text(&e.Class, patch.Class)
	if patch.Status.follows(e.Status) {
		e.Status = patch.Status
	}
	if patch.Content != nil {
		e.Content = patch.Content
	}
	if patch.Locations != nil {
		e.Locations = patch.Locations
	}
	if patch.Input != nil {
		e.Input = patch.Input
	}
	if patch.Output != nil {
		e.Output = patch.Output
	}
	if patch.Meta != nil {
		e.Meta = patch.Meta
	}
}

// follows reports whether a status comes after another one.
func (s Status) follows(before Status) bool { return s.rank() > before.rank() }

func (s Status) rank() int {
	switch {
	case s == "":
		return 0
	case s == Pending:
		return 1
	case s.Ended():
		return 3
	}
	return 2
}
