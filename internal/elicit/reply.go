// SPDX-License-Identifier: Apache-2.0

package elicit

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/toolset"
)

// Form is the form of a question.
type Form = acp.ElicitationSchema

// Reply returns a reply whose content has been checked against a form with [Check], or an error
// that describes the problem. Content that is absent counts as an empty object. Only
// [toolset.ActionAccept] keeps its content.
func Reply(form *Form, r toolset.Reply) (toolset.Reply, error) {
	switch r.Action {
	case toolset.ActionDecline, toolset.ActionCancel:
		r.Content = nil
		return r, nil
	case toolset.ActionAccept:
	default:
		return r, fmt.Errorf("the action is %.40q: use accept, decline or cancel", r.Action)
	}
	content := Content{}
	switch {
	case len(r.Content) == 0 && len(form.Properties) == 0: // an address was visited
		return r, nil
	case len(r.Content) > 0:
		if err := json.Unmarshal(r.Content, &content); err != nil || content == nil {
			return r, errors.New("the content is not a JSON object")
		}
	}
	checked, err := Check(form, content)
	if err != nil {
		return r, err
	}
	if r.Content, err = json.Marshal(checked); err != nil {
		return r, fmt.Errorf("the content cannot be encoded: %w", err)
	}
	return r, nil
}
