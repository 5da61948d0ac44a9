// SPDX-License-Identifier: Apache-2.0

package lsptoolset

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/ponte-go/ponte/internal/lsp"
)

// capture takes the edits that a server asks for while a call of this program runs a command of the
// server. They are not made, but shown to a person first.
type capture struct{ edits []lsp.WorkspaceEdit }

// maxCaptured is how many edits a command may ask for.
const maxCaptured = 100

// takeEdit answers a server that wants to edit files.
func (l *link) takeEdit(params json.RawMessage) lsp.ApplyWorkspaceEditResult {
	refuse := func(why string) lsp.ApplyWorkspaceEditResult {
		return lsp.ApplyWorkspaceEditResult{FailureReason: why}
	}
	var p lsp.ApplyWorkspaceEditParams
	if err := json.Unmarshal(params, &p); err != nil {
		return refuse("malformed parameters")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.capture == nil:
		return refuse("edits are only made when the user has approved them")
	case len(l.capture.edits) == maxCaptured:
		return refuse("too many edits")
	}
	l.capture.edits = append(l.capture.edits, p.Edit)
	return lsp.ApplyWorkspaceEditResult{Applied: true}
}

// sorted sorts strings.
func sorted(all []string) []string {
	slices.Sort(all)
	return all
}

// change is one step of an edit: edits of a file, or a file that is created, renamed or deleted.
type change struct {
	kind     string // "", "create", "rename" or "delete"
	uri, new string // new for rename
	version  int32  // of the document that the edits are of; 0 if the server does not say
	edits    []lsp.TextEdit
	// notes are what the server says about the edits.
	overwrite, ignore, recursive bool
}

// changesOf reads an edit as steps, in order. notes are the server's words about those that need
// attention.
func changesOf(e *lsp.WorkspaceEdit) (all []change, notes []string, err error) {
	noted := map[string]bool{}
	note := func(id string) {
		a, ok := e.ChangeAnnotations[id]
		if !ok || noted[id] {
			return
		}
		noted[id] = true
		text := shown(a.Label, 200)
		if a.Description != "" {
			text += ": " + shown(a.Description, 500)
		}
		if a.NeedsConfirmation {
			text += " (the language server asks for confirmation)"
		}
		notes = append(notes, text)
	}
	if len(e.DocumentChanges) == 0 {
		for uri, edits := range e.Changes {
			all = append(all, change{uri: uri, edits: edits})
		}
		slices.SortFunc(all, func(a, b change) int {
			if a.uri < b.uri {
				return -1
			}
			return 1
		})
		return all, nil, nil
	}
	for _, raw := range e.DocumentChanges {
		var step struct {
			Kind         string `json:"kind"`
			URI          string `json:"uri"`
			OldURI       string `json:"oldUri"`
			NewURI       string `json:"newUri"`
			AnnotationID string `json:"annotationId"`
			Options      struct {
				Overwrite         bool `json:"overwrite"`
				IgnoreIfExists    bool `json:"ignoreIfExists"`
				IgnoreIfNotExists bool `json:"ignoreIfNotExists"`
				Recursive         bool `json:"recursive"`
			} `json:"options"`
			TextDocument lsp.OptionalVersionedTextDocumentIdentifier `json:"textDocument"`
			Edits        []struct {
				lsp.TextEdit
				AnnotationID string          `json:"annotationId"`
				Snippet      json.RawMessage `json:"snippet"`
			} `json:"edits"`
		}
		if err := json.Unmarshal(raw, &step); err != nil {
			return nil, nil, fmt.Errorf("the edit is malformed: %w", err)
		}
		note(step.AnnotationID)
		c := change{
			kind:      step.Kind,
			uri:       step.URI,
			overwrite: step.Options.Overwrite,
			recursive: step.Options.Recursive,
			ignore:    step.Options.IgnoreIfExists || step.Options.IgnoreIfNotExists,
		}
		switch step.Kind {
		case "create", "delete":
		case "rename":
			c.uri, c.new = step.OldURI, step.NewURI
		case "":
			c.uri, c.version = step.TextDocument.URI, step.TextDocument.Version
			for i := range step.Edits {
				if step.Edits[i].Snippet != nil {
					return nil, nil, errors.New("the edit has a snippet, which was not offered")
				}
				note(step.Edits[i].AnnotationID)
				c.edits = append(c.edits, step.Edits[i].TextEdit)
			}
		default:
			return nil, nil, fmt.Errorf(
				"the edit has a step of the unknown kind %q",
				shown(step.Kind, 50),
			)
		}
		all = append(all, c)
	}
	return all, notes, nil
}
