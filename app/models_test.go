// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/app/config"
	"github.com/ponte-go/ponte/app/internal/keys"
)

// thoughtful is a model with levels of thinking.
type thoughtful struct {
	model.Model
	levels []string
}

func (t thoughtful) ThinkingLevels() []string { return t.levels }

// The level that the user prefers comes first, and the model's own default is one of them.
func TestLevelsOfThinking(t *testing.T) {
	none := modeltest.Script(modeltest.SayText("Hello."))
	require.Equal(t, []string{}, thinkingOf(none, "high"))
	require.Equal(t, []string{}, thinkingOf(thoughtful{none, nil}, "high"))
	levels := []string{"low", "medium", "high"}
	for preferred, want := range map[string][]string{
		"":       {host.ThinkingDefault, "low", "medium", "high"},
		"other":  {host.ThinkingDefault, "low", "medium", "high"},
		"low":    {"low", "medium", "high", host.ThinkingDefault},
		"medium": {"medium", "low", "high", host.ThinkingDefault},
		"high":   {"high", "low", "medium", host.ThinkingDefault},
	} {
		require.Equal(t, want, thinkingOf(thoughtful{none, levels}, preferred), preferred)
	}
	require.Equal(t, []string{"low", "medium", "high"}, levels)
}

// listed describes models that users can choose from.
func listed(all []host.Model) (lines []string) {
	for _, m := range all {
		lines = append(lines, fmt.Sprintf("%s|%s|%s|%s", m.ID, m.Title, m.Description, m.Model.Info().Name))
	}
	return lines
}

// What users can choose from is the chosen model, those of the configuration, and one for each key.
func TestModelsToChooseFrom(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keys.json")
	stored := keys.Open("desk", env("DESK_KEYS", file))
	chosen := modeltest.Script(modeltest.SayText("Hello."))
	user := func(text string) *config.User {
		name := filepath.Join(t.TempDir(), "config.json")
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
		u, err := config.ReadUser(name)
		require.NoError(t, err)
		return u
	}
	for name, c := range map[string]struct {
		chooser chooser
		name    string
		text    string
		want    []string
		err     string
	}{
		"none named": {chooser{env: env()}, "", `{}`, []string{"default|Default|The model of a stored key, else a local Ollama.|script"}, ""},
		"a demo": {chooser{env: env(), demo: demo}, "", `{}`, []string{
			"default|Default|The model of a stored key, else a local Ollama, else the offline demo model.|script",
			"offline|Offline|A demo model: a few rules and no intelligence.|offline-demo",
		}, ""},
		"a demo that is named": {chooser{env: env(), demo: demo}, "offline", `{}`, []string{"offline|Offline|A demo model: a few rules and no intelligence.|script"}, ""},
		"a named one":          {chooser{env: env(), demo: demo}, "own:x", `{}`, []string{"own:x|own:x||script"}, ""},
		"a key":                {chooser{env: env("MISTRAL_API_KEY", "k")}, "", `{}`, []string{"mistral:mistral-medium-latest|mistral:mistral-medium-latest||script"}, ""},
		"keys":                 {chooser{env: env("MISTRAL_API_KEY", "k", "DEEPSEEK_API_KEY", "k")}, "own:x", `{}`, []string{"own:x|own:x||script", "deepseek:deepseek-chat|deepseek:deepseek-chat||deepseek-chat", "mistral:mistral-medium-latest|mistral:mistral-medium-latest||mistral-medium-latest"}, ""},
		"more":                 {chooser{env: env("MISTRAL_API_KEY", "k"), demo: demo}, "own:x", `{"models": ["mistral:a", "offline", "own:x"]}`, []string{"own:x|own:x||script", "mistral:a|mistral:a||a", "offline|Offline|A demo model: a few rules and no intelligence.|offline-demo", "mistral:mistral-medium-latest|mistral:mistral-medium-latest||mistral-medium-latest"}, `models[2]: "own:x": unknown provider`},
		"one that has a key":   {chooser{env: env("MISTRAL_API_KEY", "k")}, "own:x", `{"models": ["mistral:mistral-medium-latest"]}`, []string{"own:x|own:x||script", "mistral:mistral-medium-latest|mistral:mistral-medium-latest||mistral-medium-latest"}, ""},
		"no key for one":       {chooser{env: env()}, "own:x", `{"models": ["mistral:a"]}`, nil, "models[0]: opening \"mistral:a\": openaimodel: mistral: no API key: set MISTRAL_API_KEY"},
	} {
		c.chooser.stored, c.chooser.program = stored, "desk"
		if c.err != "" && name != "more" {
			c.chooser.stored = nil
		}
		all, err := c.chooser.models(t.Context(), chosen, c.name, user(c.text))
		if c.err == "" {
			require.NoError(t, err, name)
		} else {
			require.ErrorContains(t, err, c.err, name)
		}
		if c.want != nil {
			require.Equal(t, c.want, listed(all), name)
			for _, m := range all {
				require.Equal(t, thinkingOf(m.Model, ""), m.Thinking, name)
			}
		}
	}

	// A stored key counts as one of the environment.
	_, err := stored.Set(t.Context(), "GROQ_API_KEY", "k")
	require.NoError(t, err)
	c := chooser{env: env(), stored: stored, program: "desk"}
	all, err := c.models(t.Context(), thoughtful{chosen, []string{"low", "high"}}, "own:x", &config.User{Thinking: "high"})
	require.NoError(t, err)
	require.Equal(t, "own:x|own:x||script", listed(all)[0])
	require.Equal(t, []string{"high", "low", host.ThinkingDefault}, all[0].Thinking)
	require.Equal(t, "groq:openai/gpt-oss-120b", all[1].ID)
	require.Len(t, all, 2)

	// A level that the chosen model does not have is a mistake, if it has levels at all.
	u := user(`{"thinking": "high"}`)
	_, err = c.models(t.Context(), thoughtful{chosen, []string{"low", "most"}}, "own:x", u)
	require.EqualError(t, err, u.File+`:1:14: thinking: own:x has no level "high"; it has low, most`)
	_, err = c.models(t.Context(), chosen, "own:x", u)
	require.NoError(t, err)
}

// The first model that has a key is opened when it is asked, and again after the key was refused.
func TestKeysThatComeLater(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keys.json")
	stored := keys.Open("desk", env("DESK_KEYS", file))
	k, err := newKeyed(t.Context(), "desk", "groq:x", env(), stored)
	require.NoError(t, err)
	require.Equal(t, [2]string{"groq", "x"}, [2]string{k.Info().Provider, k.Info().Name})
	e := &Env{model: k}
	l := e.Login()
	require.Equal(t, "groq", l.Provider())
	const missing = ": there is no key for groq: run \"desk login groq\" in a terminal, or set GROQ_API_KEY"
	for _, check := range []func(context.Context) error{l.Check, l.Again} {
		err := check(t.Context())
		require.ErrorIs(t, err, model.ErrAuth)
		require.EqualError(t, err, model.ErrAuth.Error()+missing)
	}
	_, err = k.Generate(t.Context(), nil, nil)
	require.EqualError(t, err, model.ErrAuth.Error()+missing)

	_, err = stored.Set(t.Context(), "GROQ_API_KEY", "k")
	require.NoError(t, err)
	require.NoError(t, l.Check(t.Context()))
	first := k.opened
	require.NoError(t, l.Check(t.Context()))
	require.Same(t, first, k.opened, "it is opened once")
	require.NoError(t, l.Again(t.Context()))
	require.NotSame(t, first, k.opened, "the key may be another one")
	for _, c := range []struct {
		err    error
		forgot bool
	}{{errors.New("no network"), false}, {fmt.Errorf("refused: %w", model.ErrAuth), true}} {
		k.opened = modeltest.Script(modeltest.Fail(c.err))
		_, err = k.Generate(t.Context(), &model.Request{Messages: []*model.Message{model.UserText("Hello")}}, nil)
		require.ErrorIs(t, err, c.err)
		require.Equal(t, c.forgot, k.opened == nil)
	}
	require.NoError(t, l.Logout(t.Context()))
	require.Nil(t, k.opened)
	require.NoError(t, l.Logout(t.Context()), "there is none any more")
	require.ErrorIs(t, l.Check(t.Context()), model.ErrAuth)

	// A key of the environment stays.
	k.env = env("GROQ_API_KEY", "k")
	require.NoError(t, l.Check(t.Context()))
	require.EqualError(t, l.Logout(t.Context()), "the stored key is removed, but GROQ_API_KEY is set in the environment")
	require.Nil(t, k.opened)

	// A file that cannot be read is the reason that there is none.
	k.env = env()
	require.NoError(t, os.WriteFile(file, []byte("nonsense"), 0o600))
	require.EqualError(t, l.Check(t.Context()), model.ErrAuth.Error()+missing+" ("+file+": it is not a JSON object of strings)")
	require.EqualError(t, l.Logout(t.Context()), file+": it is not a JSON object of strings")

	// There is nothing to log in to with a wrong configuration, or without a model that has a key.
	e.Wrong(errors.New("wrong"))
	require.Nil(t, e.Login())
	require.Nil(t, (&Env{model: modeltest.Script()}).Login())
	require.Nil(t, (&Env{}).Login())

	_, err = newKeyed(t.Context(), "desk", "groq:", env(), stored)
	require.EqualError(t, err, `model: "groq:" names a provider but no model; use groq:name`)
}

// Variables of the environment come before stored keys, which answer for the variables of keys only.
func TestTheEnvironmentWithStoredKeys(t *testing.T) {
	stored := keys.Open("desk", env("DESK_KEYS", filepath.Join(t.TempDir(), "keys.json")))
	for _, name := range []string{"GROQ_API_KEY", "OTHER"} {
		_, err := stored.Set(t.Context(), name, "stored")
		require.NoError(t, err)
	}
	with := withKeys(t.Context(), env("MISTRAL_API_KEY", "own"), stored)
	require.Equal(t, []string{"own", "stored", "", ""}, []string{with("MISTRAL_API_KEY"), with("GROQ_API_KEY"), with("OTHER"), with("OPENAI_API_KEY")})
	with = withKeys(t.Context(), env("GROQ_API_KEY", "own"), stored)
	require.Equal(t, "own", with("GROQ_API_KEY"))
	with = withKeys(t.Context(), env(), nil)
	require.Empty(t, with("GROQ_API_KEY"))
	for name, want := range map[string][2]string{
		"groq:x": {"groq", "GROQ_API_KEY"}, "groq": {"groq", "GROQ_API_KEY"}, "ollama:x": {"ollama", ""}, "xai:x": {"xai", ""}, "": {"", ""},
	} {
		provider, variable := keyOf(name)
		require.Equal(t, want, [2]string{provider, variable}, name)
	}
}

// A model that is being looked for promises nothing, and whoever asks it waits until it is found.
func TestTheModelThatIsLookedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &searched{program: "desk", found: make(chan struct{})}
		require.Equal(t, model.Info{Provider: "desk", Name: "default"}, s.Info())
		ctx, cancel := context.WithCancelCause(t.Context())
		gone := errors.New("the editor has gone")
		failed := make(chan error)
		go func() { _, err := s.Generate(ctx, nil, nil); failed <- err }()
		synctest.Wait()
		require.Empty(t, failed)
		cancel(gone)
		err := <-failed
		require.EqualError(t, err, "desk: the editor has gone")
		require.ErrorIs(t, err, gone)
		s.model = modeltest.Script(modeltest.SayText("Here."))
		close(s.found)
		msg, err := s.Generate(t.Context(), &model.Request{Messages: []*model.Message{model.UserText("Hello")}}, nil)
		require.NoError(t, err)
		require.Equal(t, "Here.", msg.Text())
	})
}
