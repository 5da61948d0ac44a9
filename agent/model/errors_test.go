// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
)

func TestAPIErrorIsOneReadableLine(t *testing.T) {
	for want, e := range map[string]*model.APIError{
		"model: HTTP 500 Internal Server Error": {Status: 500},
		"model: m: EOF":                         {Model: "m", Err: io.EOF},
		"model: p: (c)":                         {Provider: "p", Code: "c"},
		"model: no usable response":             {},
		"model: HTTP 200 OK: no usable response: check the base URL": {Status: 200},
		"model: p: gone away":                              {Provider: "p", Message: "gone\n away"},
		"model: p m: HTTP 429 Too Many Requests (c): slow": {Provider: "p", Model: "m", Status: 429, Code: "c", Message: "slow"},
		"model: p: HTTP 500 Internal Server Error: EOF":    {Provider: "p", Status: 500, Err: io.EOF},
		"model: p: HTTP 500 Internal Server Error":         {Provider: "p", Status: 500},
		"model: p: HTTP 529 (overloaded): busy":            {Provider: "p", Status: 529, Code: "overloaded", Message: "busy"},
		"model: p: said":                                   {Provider: "p", Message: "said", Err: io.EOF},
	} {
		require.Equal(t, want, e.Error())
	}
}

func TestAPIErrorMatchesSentinels(t *testing.T) {
	for _, test := range []struct {
		err  *model.APIError
		want error
	}{
		{&model.APIError{Status: 401}, model.ErrAuth},
		{&model.APIError{Status: 403}, model.ErrAuth},
		{&model.APIError{Status: 429}, model.ErrRateLimited},
		{&model.APIError{Status: 400, Code: "context_length_exceeded"}, model.ErrContextLength},
		{&model.APIError{Status: 400, Type: "exceed_context_size_error"}, model.ErrContextLength},
		{&model.APIError{Status: 500}, nil},
	} {
		wrapped := fmt.Errorf("outside: %w", test.err)
		for _, id := range []error{model.ErrAuth, model.ErrRateLimited, model.ErrContextLength, model.ErrUnsupported, model.ErrRequestsForbidden} {
			require.Equal(t, id == test.want, errors.Is(wrapped, id), "%v: %v", test.err, id)
		}
	}
	require.ErrorIs(t, &model.APIError{Err: model.ErrRateLimited}, model.ErrRateLimited, "the cause is checked too")
}

func TestForbidRequests(t *testing.T) {
	info := model.Info{Provider: "p", Name: "m"}
	require.NoError(t, model.CheckRequests(info))
	outer := model.ForbidRequests()
	inner := model.ForbidRequests()
	err := model.CheckRequests(info)
	require.ErrorIs(t, err, model.ErrRequestsForbidden)
	require.EqualError(t, err, "model: p m: real model requests are forbidden in this process")
	inner()
	require.Error(t, model.CheckRequests(info), "restore returns to the previous state")
	outer()
	require.NoError(t, model.CheckRequests(info))
}
