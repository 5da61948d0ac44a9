// SPDX-License-Identifier: Apache-2.0

package ask_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/app/ask"
)

// TestSlashCommandsOfAgents has commands that tell something, that become prompts, that forget the conversation, and that fail.
func TestSlashCommandsOfAgents(t *testing.T) {
	var asked []string
	says := modeltest.Func(func(_ context.Context, req *model.Request) (*model.Message, error) {
		all := ""
		for _, m := range req.Messages {
			all += m.Parts[len(m.Parts)-1].Text + "|"
		}
		asked = append(asked, all)
		return model.Response(model.Text("Well.")), nil
	})
	run := func(c agent.CommandResult, err error) func(context.Context, agent.CommandCall[any]) (agent.CommandResult, error) {
		return func(context.Context, agent.CommandCall[any]) (agent.CommandResult, error) { return c, err }
	}
	a := agent.Must(agent.New(agent.Config[any, string]{Model: says, Commands: []agent.Command[any]{
		{Name: "tell", Description: "Tell.", Run: run(agent.CommandResult{Notice: "This is so."}, nil)},
		{Name: "ask", Description: "Ask.", Prompt: "Ask them."},
		{Name: "forget", Description: "Forget.", Run: run(agent.CommandResult{Notice: "Gone.", Messages: []*model.Message{}}, nil)},
		{Name: "fail", Description: "Fail.", Run: run(agent.CommandResult{}, errors.New("on fire"))},
	}}))
	var out bytes.Buffer
	messages := ask.Converse(t.Context(), ask.New(strings.NewReader("/tell\n/ask\none\n/forget\ntwo\n/fail\n/nothing\n"), &out), a, nil)
	require.Equal(t, []string{"Ask them.|", "Ask them.|Well.|one|", "two|", "two|Well.|/nothing|"}, asked)
	require.Len(t, messages, 4)
	require.Equal(t, "\n> This is so.\n\n> \nWell.\n\n> Well.\n\n> Gone.\n\n> Well.\n\n> agent: /fail: on fire\n\n> Well.\n\n> ", out.String())
}
