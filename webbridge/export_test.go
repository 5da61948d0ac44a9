// SPDX-License-Identifier: Apache-2.0

package webbridge

import (
	"net/http"

	"github.com/ponte-go/ponte/agent/view"
)

// Tables returns what shows a session in the words of each protocol, to a client that has been shown nothing. The answer
// is what is before the first prompt.
func (h *Handler) Tables(w http.ResponseWriter) map[string]func(*view.Cursor) (more bool) {
	ui, run, out := &uiStream{out: h.Stream(w)}, &aguiRun{out: h.Stream(w)}, h.Stream(w)
	ui.uiTable, run.r = newUITable("", nil, ui.write), newAGUITable("", "s", run.write)
	var news []view.Delta
	return map[string]func(*view.Cursor) bool{
		"UI message stream": ui.news, "AG-UI": run.r.show,
		"JSON API": func(c *view.Cursor) bool {
			news = taken(c, news[:0])
			out.update(news, false, "", "")
			return true
		},
	}
}

// Routes returns the routes of the API.
func (h *Handler) Routes() []string {
	var all []string
	for route := range h.routes() {
		all = append(all, route)
	}
	return all
}

// Open returns how many streams are open, and how many sessions and users are in memory.
func (h *Handler) Open() (streams, sessions, users int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.streams, len(h.live), len(h.accounts)
}
