// SPDX-License-Identifier: Apache-2.0

package webbridge

import (
	"net/http"
	"time"

	"github.com/ponte-go/ponte/agent/view"
)

// waitingJSON is a prompt that waits for its turn.
type waitingJSON struct {
	ID      string         `json:"id"`
	Version int64          `json:"version"`
	Time    time.Time      `json:"time"`
	By      string         `json:"by"`
	Content []view.Content `json:"content"`
}

// getWaiting lists the prompts that wait for their turns, whichever server has taken them.
func (h *Handler) getWaiting(w http.ResponseWriter, r *http.Request) error {
	s, done, err := h.use(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	defer done()
	all, err := s.Waiting(r.Context())
	if err != nil {
		return err
	}
	answer := struct {
		Waiting []waitingJSON `json:"waiting"`
	}{[]waitingJSON{}}
	for _, one := range all {
		answer.Waiting = append(answer.Waiting, waitingJSON{one.ID, one.Version, one.Time, one.By, one.Content()})
	}
	writeJSON(w, http.StatusOK, answer)
	return nil
}

// putWaiting changes a prompt that waits.
func (h *Handler) putWaiting(w http.ResponseWriter, r *http.Request) error {
	var in struct {
		Version int64    `json:"version"`
		Parts   []upload `json:"parts"`
	}
	if err := h.decode(w, r, h.o.Limits.Prompt, &in); err != nil {
		return err
	}
	parts, shown, err := h.parts(in.Parts)
	if err != nil {
		return err
	}
	s, done, err := h.use(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	defer done()
	if err := s.EditWaiting(r.Context(), r.PathValue("prompt"), in.Version, parts, shown); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// deleteWaiting removes a prompt that waits.
func (h *Handler) deleteWaiting(w http.ResponseWriter, r *http.Request) error {
	var in struct {
		Version int64 `json:"version"`
	}
	if err := h.decode(w, r, h.o.Limits.Body, &in); err != nil {
		return err
	}
	s, done, err := h.use(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	defer done()
	if err := s.RemoveWaiting(r.Context(), r.PathValue("prompt"), in.Version); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
