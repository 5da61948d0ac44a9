// SPDX-License-Identifier: Apache-2.0

package modeltest_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
)

func ask(text string) *model.Request {
	return &model.Request{Messages: []*model.Message{model.UserText(text)}}
}

func answer(t testing.TB, m model.Model, req *model.Request) *model.Message {
	t.Helper()
	msg, err := m.Generate(t.Context(), req, nil)
	require.NoError(t, err)
	return msg
}

func failure(t testing.TB, m model.Model, req *model.Request) error {
	t.Helper()
	msg, err := m.Generate(t.Context(), req, nil)
	require.Error(t, err)
	require.Nil(t, msg)
	return err
}

var errBoom = errors.New("boom")
