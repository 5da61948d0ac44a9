// SPDX-License-Identifier: Apache-2.0

package webbridge

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
)

// Bounds of lists and titles.
const (
	maxTitle  = 500    // bytes
	maxQuery  = 200    // bytes
	maxListed = 100    // sessions in an answer
	maxLooked = 10_000 // sessions of the user that a request looks at
)

// told returns a session as clients are told of it: without its values and its owner, which are for the server.
func told(info session.Info) session.Info {
	info.Values, info.Tenant, info.Owner = nil, "", ""
	return info
}

func (h *Handler) listSessions(w http.ResponseWriter, r *http.Request) error {
	query := r.URL.Query()
	limit := session.DefaultLimit
	if text := query.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return refuse(KindInvalid, "limit is %q: use a number from 1 to %d", text, maxListed)
		}
		limit = n
	}
	limit = min(limit, maxListed)
	words := strings.ToLower(query.Get("q"))
	if len(words) > maxQuery {
		return refuse(KindTooLarge, "q has %d bytes: use at most %d", len(words), maxQuery)
	}
	user, found := User(r.Context()), []session.Info{}
	q := session.Query{Owner: &user, Dir: query.Get("dir"), Cursor: query.Get("cursor"), Conversations: true}
	if q.Dir == "" && len(h.o.Dirs) == 1 {
		q.Dir = h.o.Dirs[0]
	}
	for looked := 0; ; {
		if q.Limit = limit - len(found); words != "" {
			q.Limit = session.MaxLimit // most of them will not fit
		}
		page, err := h.host.List(r.Context(), q, func(i *session.Info) bool { return !host.Archived(i) })
		if err != nil {
			return err
		}
		for i, info := range page.Sessions {
			if !h.sees(user, info) || words != "" && !strings.Contains(strings.ToLower(info.Title), words) {
				continue
			}
			h.owns(user, info.ID)
			if found = append(found, told(info)); len(found) == limit && i+1 < len(page.Sessions) {
				page.Next = q.Next(&info)
				break
			}
		}
		looked += len(page.Sessions)
		q.Cursor = page.Next
		if q.Cursor == "" || len(found) == limit || looked >= maxLooked {
			break
		}
	}
	writeJSON(w, http.StatusOK, struct {
		Sessions []session.Info    `json:"sessions"`
		Scores   map[string]string `json:"scores"`
		Next     string            `json:"next"`
	}{found, h.summaries(r.Context(), found), q.Cursor})
	return nil
}

func (h *Handler) createSession(w http.ResponseWriter, r *http.Request) error {
	var in struct {
		Title string `json:"title"`
		Dir   string `json:"dir"`
	}
	if err := h.decode(w, r, h.o.Limits.Body, &in); err != nil {
		return err
	}
	if h.isClosing() {
		return errClosing
	}
	info, err := h.create(r, in.Title, in.Dir)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusCreated, told(info))
	return nil
}

// create makes a session of the user without opening it: another machine may get the first prompt.
func (h *Handler) create(r *http.Request, title, dir string) (session.Info, error) {
	if dir != "" && !slices.Contains(h.o.Dirs, dir) {
		return session.Info{}, refuse(KindForbidden, "sessions may not work in the directory %q", dir)
	}
	if err := checkTitle(title); err != nil {
		return session.Info{}, err
	}
	return h.make(r, session.New{Title: title, Dir: dir})
}

// make makes a session of the user, in the first of the directories if it has none.
func (h *Handler) make(r *http.Request, n session.New) (session.Info, error) {
	if n.Dir == "" && len(h.o.Dirs) > 0 {
		n.Dir = h.o.Dirs[0]
	}
	n.Owner, n.Limit = User(r.Context()), max(0, h.o.Limits.UserSessions)
	info, err := h.host.Store().Create(r.Context(), n)
	return info, h.tooMany(err)
}

// tooMany tells a user who has too many sessions what to do.
func (h *Handler) tooMany(err error) error {
	if errors.Is(err, session.ErrTooMany) {
		return refuse(KindLimit, "you have %d sessions, which is the limit: delete some", h.o.Limits.UserSessions)
	}
	return err
}

func checkTitle(title string) error {
	if len(title) > maxTitle {
		return refuse(KindTooLarge, "the title has %d bytes: use at most %d", len(title), maxTitle)
	}
	if strings.ContainsFunc(title, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return refuse(KindInvalid, "the title has control characters")
	}
	return nil
}

// info returns a session of the user, without opening it.
func (h *Handler) info(r *http.Request) (session.Info, error) {
	id := r.PathValue("id")
	info, err := h.host.Store().Get(r.Context(), id)
	if errors.Is(err, session.ErrNotFound) || err == nil && !h.sees(User(r.Context()), info) {
		return info, unknown(id)
	}
	return info, err
}

func (h *Handler) getSession(w http.ResponseWriter, r *http.Request) error {
	info, err := h.info(r)
	if err == nil {
		writeJSON(w, http.StatusOK, told(info))
	}
	return err
}

func (h *Handler) patchSession(w http.ResponseWriter, r *http.Request) error {
	var in struct {
		Title *string `json:"title"`
	}
	if err := h.decode(w, r, h.o.Limits.Body, &in); err != nil {
		return err
	}
	if in.Title == nil {
		return refuse(KindInvalid, "title is missing")
	}
	if err := checkTitle(*in.Title); err != nil {
		return err
	}
	s, done, err := h.use(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	defer done()
	if err := s.SetTitle(r.Context(), *in.Title); err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, told(s.Info()))
	return nil
}

func (h *Handler) deleteSession(w http.ResponseWriter, r *http.Request) error {
	info, err := h.info(r)
	if err != nil {
		return err
	}
	l := h.enter(info.ID)
	defer h.leave(l)
	l.changing <- struct{}{}
	defer func() { <-l.changing }()
	if err := h.host.Delete(r.Context(), info.ID); err != nil && !errors.Is(err, session.ErrNotFound) {
		return err
	}
	l.session = nil
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// point names a prompt of a session.
type point struct {
	Before string `json:"before"`
}

func (h *Handler) postRewind(w http.ResponseWriter, r *http.Request) error {
	var in point
	if err := h.decode(w, r, h.o.Limits.Body, &in); err != nil {
		return err
	}
	if in.Before == "" {
		return refuse(KindInvalid, "before is missing: use the id of a prompt of the session")
	}
	s, done, err := h.use(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	defer done()
	if _, err := s.Rewind(r.Context(), in.Before); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (h *Handler) postFork(w http.ResponseWriter, r *http.Request) error {
	var in point
	if err := h.decode(w, r, h.o.Limits.Body, &in); err != nil {
		return err
	}
	info, err := h.info(r)
	if err != nil {
		return err
	}
	n := session.New{Title: info.Title, Dir: info.Dir, Owner: User(r.Context()), Limit: max(0, h.o.Limits.UserSessions)}
	fork, err := h.host.Fork(r.Context(), info.ID, in.Before, n)
	if err != nil {
		return h.tooMany(err)
	}
	writeJSON(w, http.StatusCreated, told(fork))
	return nil
}

func (h *Handler) putSetting(w http.ResponseWriter, r *http.Request) error {
	var in struct {
		Value *string `json:"value"`
	}
	if err := h.decode(w, r, h.o.Limits.Body, &in); err != nil {
		return err
	}
	if in.Value == nil {
		return refuse(KindInvalid, "value is missing")
	}
	s, done, err := h.use(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	defer done()
	setting := r.PathValue("setting")
	switch _, err := s.Set(r.Context(), setting, *in.Value); {
	case errors.Is(err, host.ErrNoSetting):
		return refuse(KindNotFound, "there is no setting %q", setting)
	case errors.Is(err, host.ErrSettingValue):
		return refuse(KindInvalid, "the setting %q has no value %q: use one of its choices, or true or false for a switch", setting, *in.Value)
	case err != nil:
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
