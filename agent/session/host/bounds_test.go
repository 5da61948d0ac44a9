// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/view"
)

// TestTitlesAreOneShortLine has prompts at the bound, and words at half of it.
func TestTitlesAreOneShortLine(t *testing.T) {
	h := newHost(t, host.Config[none, string]{Agent: newAgent(echo())})
	a := func(n int) string { return strings.Repeat("ä", n) }
	for _, c := range []struct {
		parts []model.Part
		want  string
	}{
		{[]model.Part{model.User(a(80))}, a(80)},
		{[]model.Part{model.User(a(81))}, a(79) + "…"},
		{[]model.Part{model.User(strings.Repeat("a", 41) + " " + strings.Repeat("b", 60))}, strings.Repeat("a", 41) + "…"},
		{[]model.Part{model.User(strings.Repeat("a", 40) + " " + strings.Repeat("b", 60))}, strings.Repeat("a", 40) + " " + strings.Repeat("b", 38) + "…"},
		{[]model.Part{model.User(" \n\n  many \n lines")}, "many"},
		{[]model.Part{model.User("\n"), model.User("second part")}, "second part"},
		{[]model.Part{model.Media("image/png", []byte("x")), model.User("of a picture")}, "of a picture"},
		{[]model.Part{model.User("a  lot   of space")}, "a lot of space"},
	} {
		s := create(t, h)
		o, err := s.Prompt(t.Context(), host.Prompt{Parts: c.parts})
		require.NoError(t, err)
		require.NoError(t, o.Err)
		require.Equal(t, c.want, s.Info().Title)
	}
}

func TestWaitingPromptsAreShownOnALine(t *testing.T) {
	for _, c := range []struct {
		w    host.Waiting
		want string
	}{
		{host.Waiting{}, ""},
		{host.Waiting{Parts: []model.Part{model.User("a\nb")}}, "a⟨LF⟩b"},
		{host.Waiting{Parts: []model.Part{model.User(strings.Repeat("a", 500))}}, strings.Repeat("a", 500)},
		{host.Waiting{Parts: []model.Part{model.User(strings.Repeat("a", 501))}}, strings.Repeat("a", 500) + "…"},
		{host.Waiting{Parts: []model.Part{model.User(strings.Repeat("a", 499) + "ä")}}, strings.Repeat("a", 499) + "…"},
		{host.Waiting{Parts: []model.Part{model.User("a"), model.User("b")}, Shown: []view.Content{{Kind: view.Text, Text: "/go"}, {Kind: view.Image}}}, "/go [image]"},
	} {
		require.Equal(t, c.want, c.w.Line())
	}
}

func TestTemplatesAreReadWithinTheirBounds(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	dir := fstest.MapFS{
		"p/ends.md":        file("Say:\n\n"),
		"p/holes.md":       file("$ARGUMENTS and $ARGUMENTS"),
		"p/head.md":        file("---\ndescription: \"What it does\"\nargument-hint: 'file'\nother: x\nno colon\n---\nText\n"),
		"p/open.md":        file("---\ndescription: never closed\n"),
		"p/crlf.md":        file("---\r\ndescription: d: e\r\n---\r\nText\r\n"),
		"p/full.md":        file(strings.Repeat("a", 64<<10)),
		"p/over.md":        file(strings.Repeat("a", 64<<10+1)),
		"p/binary.md":      file("\xff"),
		"p/empty.md":       file("---\ndescription: d\n---\n \n"),
		"p/bad name.md":    file("x"),
		"p/.md":            file("x"),
		"p/sub.md/file.md": file("x"),
		"p/other.txt":      file("x"),
	}
	long := strings.Repeat("n", 64)
	dir["p/"+long+".md"], dir["p/"+long+"n.md"] = file("x"), file("x")
	all, err := host.Templates(dir, "p")
	got := map[string]host.Command{}
	for _, c := range all {
		got[c.Name] = c
	}
	for name, want := range map[string][4]string{ // description, hint, prompt without and with arguments
		"ends":  {"Prompt from ends.md.", "text", "Say:\n\n", "Say:\n\nx y"},
		"holes": {"Prompt from holes.md.", "text", " and ", "x y and x y"},
		"head":  {"What it does", "file", "Text\n", "Text\n\nx y"},
		"open":  {"Prompt from open.md.", "text", "---\ndescription: never closed\n", "---\ndescription: never closed\n\nx y"},
		"crlf":  {"d: e", "text", "Text\n", "Text\n\nx y"},
		long:    {"Prompt from " + long + ".md.", "text", "x", "x\n\nx y"},
	} {
		c, ok := got[name]
		require.True(t, ok, name)
		plain, err := c.Run(t.Context(), &host.CommandCall{})
		require.NoError(t, err)
		given, err := c.Run(t.Context(), &host.CommandCall{Args: "x y"})
		require.NoError(t, err)
		require.Equal(t, want, [4]string{c.Description, c.Hint, plain.Prompt, given.Prompt}, name)
		delete(got, name)
	}
	require.Contains(t, got, "full")
	require.Len(t, got, 1)
	for _, want := range []string{
		`host: template "over.md": it has more than 65536 bytes`, `host: template "binary.md": it is not UTF-8`, `host: template "empty.md": it has no text`,
		`host: template "bad name.md": the name cannot be a command`, `host: template ".md": the name`, `host: template "` + long + `n.md": the name`,
	} {
		require.ErrorContains(t, err, want)
	}
	require.NotContains(t, err.Error(), "sub.md")

	many := fstest.MapFS{}
	for i := range 200 {
		many[fmt.Sprintf("c%d.md", i)] = file("x")
	}
	all, err = host.Templates(many, ".")
	require.NoError(t, err)
	require.Len(t, all, 200)
	many["one.md"] = file("x")
	all, err = host.Templates(many, ".")
	require.EqualError(t, err, "host: templates: . has more than 200")
	require.Len(t, all, 200)
}

// TestChoicesOfConfigurationsAreChecked has each mistake once, and its neighbours that are none.
func TestChoicesOfConfigurationsAreChecked(t *testing.T) {
	setting := func(id, value string, isSwitch bool, choices ...string) host.Setting {
		s := host.Setting{Setting: view.Setting{ID: id, Title: id, Value: value, Switch: isSwitch}}
		for _, c := range choices {
			s.Choices = append(s.Choices, view.Choice{ID: c})
		}
		return s
	}
	run := func(context.Context, *host.CommandCall) (agent.CommandResult, error) {
		return agent.CommandResult{}, nil
	}
	for _, c := range []struct {
		settings []host.Setting
		commands []host.Command
		models   []host.Model
		want     string
	}{
		{settings: []host.Setting{setting("a", "true", true), setting("b", "false", true), setting("c", "y", false, "x", "y")}},
		{settings: []host.Setting{setting("", "true", true)}, want: `the setting "": ids must be unique and not empty`},
		{settings: []host.Setting{setting("a", "true", true), setting("a", "true", true)}, want: `the setting "a": ids must be unique and not empty`},
		{settings: []host.Setting{setting("a", "true", true, "true")}, want: `the setting "a": a switch has no choices`},
		{settings: []host.Setting{setting("a", "on", true)}, want: `the setting "a": its value "on" is not one of its choices`},
		{settings: []host.Setting{setting("a", "z", false, "x", "y")}, want: `the setting "a": its value "z" is not one of its choices`},
		{settings: []host.Setting{setting("a", "x", false, "x", "x")}, want: `the setting "a": the ids of its choices must be unique and not empty`},
		{settings: []host.Setting{setting("a", "x", false, "x", "")}, want: `the setting "a": the ids of its choices must be unique and not empty`},
		{commands: []host.Command{{Name: "azAZ09_-.:", Run: run}, {Name: strings.Repeat("a", 64), Run: run}}},
		{commands: []host.Command{{Name: strings.Repeat("a", 65), Run: run}}, want: "use letters, digits, and characters of"},
		{commands: []host.Command{{Name: "", Run: run}}, want: `the command "": use letters`},
		{commands: []host.Command{{Name: "a/b", Run: run}}, want: `the command "a/b": use letters`},
		{commands: []host.Command{{Name: "a"}}, want: `the command "a" has no Run`},
		{commands: []host.Command{{Name: "a", Run: run}, {Name: "a", Run: run}}, want: `the command "a" is there twice`},
		{models: []host.Model{{ID: "m", Title: "M", Thinking: []string{"low", "high"}}}},
		{models: []host.Model{{ID: "m", Title: "M", Thinking: []string{"low", "low"}}}, want: `the model "m": its levels of thinking must be unique and not empty`},
		{models: []host.Model{{ID: "m", Title: "M", Thinking: []string{""}}}, want: `the model "m": its levels of thinking must be unique and not empty`},
	} {
		h, err := host.New(host.Config[none, string]{Agent: newAgent(echo()), Settings: c.settings, Commands: c.commands, Models: c.models})
		if c.want == "" {
			require.NoError(t, err)
			require.NoError(t, h.Close(t.Context()))
			continue
		}
		require.ErrorContains(t, err, c.want)
	}
}

// TestOutputsAreShownAsTextOrJSON has an output of text of an own type, and one that would close its fence.
func TestOutputsAreShownAsTextOrJSON(t *testing.T) {
	type word string
	require.Contains(t, outputOf[word](t, "it is <good>"), "it is <good>")
	type page struct {
		Text string `json:"text"`
	}
	require.Contains(t, outputOf[page](t, `{"text":"<b>"}`), "```json\n{\n  \"text\": \"<b>\"\n}\n```")
	require.Contains(t, outputOf[page](t, "{\"text\":\"```\"}"), "````json\n{\n  \"text\": \"```\"\n}\n````")
}

// outputOf returns what a session shows of an output that a model gives.
func outputOf[O any](t *testing.T, args string) string {
	m := modeltest.Func(func(_ context.Context, req *model.Request) (*model.Message, error) {
		if len(req.Tools) == 0 {
			return model.Response(model.Text(args)), nil
		}
		return model.Response(model.ToolCall("1", req.Tools[0].Name, args)), nil
	})
	a := agent.Must(agent.New(agent.Config[none, O]{Model: m}))
	h, err := host.New(host.Config[none, O]{Agent: a})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, h.Close(context.WithoutCancel(t.Context()))) })
	s := create(t, h)
	require.NoError(t, prompt(t, s, "go").Err)
	var texts []string
	for line := range strings.Lines(shown(t, s)) {
		var e view.Entity
		require.NoError(t, json.Unmarshal([]byte(line), &e))
		texts = append(texts, e.Text())
	}
	return strings.Join(texts, "\n")
}
