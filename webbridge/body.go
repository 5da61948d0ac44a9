// SPDX-License-Identifier: Apache-2.0

package webbridge

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"time"
)

// decode reads the body of a request, which must be one JSON value without unknown fields. It has a bound in bytes and in time.
func (h *Handler) decode(w http.ResponseWriter, r *http.Request, limit int64, v any) error {
	data, err := h.body(w, r, limit)
	if err != nil {
		return err
	}
	if len(data) == 0 {
		data = []byte("{}")
	}
	return strictly(data, v)
}

// body reads the body of a request.
func (h *Handler) body(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	if limit > 0 {
		if r.ContentLength > limit {
			return nil, &http.MaxBytesError{Limit: limit}
		}
		r.Body = http.MaxBytesReader(w, r.Body, limit)
	}
	data, err := io.ReadAll(r.Body)
	if err == nil {
		_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	}
	var large *http.MaxBytesError
	var network net.Error
	switch {
	case err == nil, errors.As(err, &large):
		return data, err
	case errors.As(err, &network) && network.Timeout():
		w.Header().Set("Connection", "close")
		return nil, refuse(KindTooLarge, "the body of the request did not come within %v", h.o.Limits.BodyTime)
	}
	return nil, refuse(KindInvalid, "the body of the request did not come whole")
}

// hurry bounds the time to receive the body of a request, also of one that is refused: the server reads what is left of it.
func (h *Handler) hurry(w http.ResponseWriter, r *http.Request) {
	if h.o.Limits.BodyTime > 0 && r.ContentLength != 0 {
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(h.o.Limits.BodyTime)) // not supported by recorders of tests
	}
}

// strictly decodes one JSON value.
func strictly(data []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	err := d.Decode(v)
	if err == nil {
		if _, more := d.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("there is more after the value")
		}
	}
	if err != nil {
		return refuse(KindInvalid, "the request body is not valid: %v; see api/openapi.json", err)
	}
	return nil
}
