// SPDX-License-Identifier: Apache-2.0

package acpbridge_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/view"
)

func (e *editor) set(id acp.SessionID, option, value string) wireLine {
	e.t.Helper()
	return e.call(acp.MethodSetSessionConfigOption, fmt.Sprintf(`{"sessionId":%q,"configId":%q,"value":%s}`, id, option, value))
}

func TestOptionsAndModesAreOneThing(t *testing.T) {
	store := newStore()
	conf := func() acpbridge.Config[bare, string] {
		c := stored(t, store, modeltest.Script(modeltest.SayText("ok")))
		c.Host.Modes, c.Host.Thinking, c.Host.Commands = host.Modes(), []string{"off", "high"}, host.BuiltIns(nil)
		c.Host.Settings = []host.Setting{{Setting: view.Setting{ID: "fast", Title: "Fast", Switch: true, Value: "false"}}}
		return c
	}
	e := serve(t, conf())
	e.initialize(`{"session":{"configOptions":{"boolean":{}}}}`)
	var made acp.NewSessionResponse
	require.NoError(t, json.Unmarshal(e.call(acp.MethodNewSession, `{"cwd":"/repo","mcpServers":[]}`).Result, &made))
	id := made.SessionID
	require.Equal(t, acp.SessionModeID("ask"), made.Modes.CurrentModeID)
	require.Len(t, made.Modes.AvailableModes, 3)
	require.Len(t, made.ConfigOptions, 3)
	require.Equal(t, acp.SessionConfigOptionCategoryMode, made.ConfigOptions[0].Category)
	require.Equal(t, acp.SessionConfigOptionCategoryThoughtLevel, made.ConfigOptions[1].Category)
	require.NotNil(t, made.ConfigOptions[2].Boolean)

	var set acp.SetSessionConfigOptionResponse
	require.NoError(t, json.Unmarshal(e.set(id, "thinking", `"high"`).Result, &set))
	require.Len(t, set.ConfigOptions, 3, "the full list")
	require.Equal(t, acp.SessionConfigValueID("high"), set.ConfigOptions[1].Select.CurrentValue)
	answer := e.call(acp.MethodSetSessionConfigOption, fmt.Sprintf(`{"sessionId":%q,"configId":"fast","type":"boolean","value":true}`, id))
	require.NoError(t, json.Unmarshal(answer.Result, &set))
	require.True(t, set.ConfigOptions[2].Boolean.CurrentValue)
	require.JSONEq(t, `{}`, string(e.call(acp.MethodSetSessionMode, fmt.Sprintf(`{"sessionId":%q,"modeId":"plan"}`, id)).Result))
	for _, u := range e.updates(id) {
		require.Nil(t, u.ConfigOptionUpdate, "the client knows what it has set")
	}
	requireError(t, acp.CodeInvalidParams, acpbridge.KindSession, e.set(id, "thinking", `"low"`))
	requireError(t, acp.CodeInvalidParams, acpbridge.KindSession, e.set(id, "none", `"low"`))
	requireError(t, acp.CodeResourceNotFound, acpbridge.KindSession, e.set("unknown", "thinking", `"low"`))

	requireStop(t, acp.StopReasonEndTurn, e.prompt(id, "/mode code"))
	var option *acp.ConfigOptionUpdate
	var mode *acp.CurrentModeUpdate
	for _, u := range e.updates(id) {
		if u.ConfigOptionUpdate != nil {
			option = u.ConfigOptionUpdate
		}
		if u.CurrentModeUpdate != nil {
			mode = u.CurrentModeUpdate
		}
	}
	require.Equal(t, acp.SessionModeID("code"), mode.CurrentModeID, "what the agent's side changes is announced")
	require.Len(t, option.ConfigOptions, 3)
	require.Equal(t, acp.SessionConfigValueID("code"), option.ConfigOptions[0].Select.CurrentValue)
	require.NoError(t, e.stop())

	again := serve(t, conf())
	again.initialize(`{}`)
	var loaded acp.LoadSessionResponse
	require.NoError(t, json.Unmarshal(again.load(acp.MethodLoadSession, id).Result, &loaded))
	require.Equal(t, acp.SessionModeID("code"), loaded.Modes.CurrentModeID)
	require.Equal(t, acp.SessionConfigValueID("high"), loaded.ConfigOptions[1].Select.CurrentValue)
	require.Equal(t, acp.SessionConfigValueID("true"), loaded.ConfigOptions[2].Select.CurrentValue, "a client without switches gets a choice")
	require.NoError(t, json.Unmarshal(again.set(id, "fast", `"false"`).Result, &set))
	require.Equal(t, acp.SessionConfigValueID("false"), set.ConfigOptions[2].Select.CurrentValue)
}

func TestProgramWithoutSettingsOffersNone(t *testing.T) {
	e, id := start(t, config(t, modeltest.Script()))
	require.NotContains(t, e.all()[1].Text, "modes")
	require.NotContains(t, e.all()[1].Text, "configOptions")
	require.Equal(t, acp.CodeMethodNotFound, e.set(id, "mode", `"plan"`).Error.Code)
}

func TestASingleSettingIsOfferedAndSet(t *testing.T) {
	c := config(t, modeltest.Script())
	c.Host.Settings = []host.Setting{{Setting: view.Setting{ID: "fast", Title: "Fast", Switch: true, Value: "false"}}}
	e := serve(t, c)
	e.initialize(`{"session":{"configOptions":{"boolean":{}}}}`)
	var made acp.NewSessionResponse
	require.NoError(t, json.Unmarshal(e.call(acp.MethodNewSession, `{"cwd":"/repo","mcpServers":[]}`).Result, &made))
	require.Nil(t, made.Modes)
	require.Len(t, made.ConfigOptions, 1)
	require.False(t, made.ConfigOptions[0].Boolean.CurrentValue)
	answer := e.call(acp.MethodSetSessionConfigOption, fmt.Sprintf(`{"sessionId":%q,"configId":"fast","type":"boolean","value":true}`, made.SessionID))
	var set acp.SetSessionConfigOptionResponse
	require.NoError(t, json.Unmarshal(answer.Result, &set), answer.Text)
	require.Len(t, set.ConfigOptions, 1)
	require.True(t, set.ConfigOptions[0].Boolean.CurrentValue)
}
