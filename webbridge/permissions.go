// SPDX-License-Identifier: Apache-2.0

package webbridge

import (
	"errors"
	"net/http"

	"github.com/ponte-go/ponte/agent/session/host"
)

// permissionJSON is a rule that decides about calls before a person is asked.
type permissionJSON struct {
	ID        string `json:"id"`
	Text      string `json:"text"`
	Origin    string `json:"origin"`
	Removable bool   `json:"removable"`
}

// getPermissions lists the rules that decide about calls of a session.
func (h *Handler) getPermissions(w http.ResponseWriter, r *http.Request) error {
	s, done, err := h.use(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	defer done()
	all, err := s.Permissions()
	if err != nil {
		return err
	}
	answer := struct {
		Permissions []permissionJSON `json:"permissions"`
	}{[]permissionJSON{}}
	for i := range all {
		p := &all[i]
		answer.Permissions = append(answer.Permissions,
			permissionJSON{p.ID, p.Text, p.Origin, p.Removable})
	}
	writeJSON(w, http.StatusOK, answer)
	return nil
}

// deletePermission takes a rule back.
func (h *Handler) deletePermission(w http.ResponseWriter, r *http.Request) error {
	s, done, err := h.use(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	defer done()
	err = s.DropPermission(r.Context(), r.PathValue("permission"))
	switch {
	case errors.Is(err, host.ErrNoPermission):
		return refuse(KindNotFound, "there is no such rule, or it cannot be taken back here")
	case err != nil:
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
