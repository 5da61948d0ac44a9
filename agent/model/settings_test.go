// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
)

func fullSettings(n int) *model.Settings {
	f, i, yes := float64(n), int64(n), n%2 == 0
	return &model.Settings{
		MaxTokens: n, Temperature: &f, TopP: &f, Stop: []string{"stop"}[:n%2], Seed: &i, ParallelToolCalls: &yes, Thinking: []string{"low", "high"}[n%2],
		ServiceTier: []string{"flex", "fast"}[n%2], ExtraHeaders: map[string]string{"A": "a"}, ExtraBody: map[string]json.RawMessage{"a": json.RawMessage("1")},
	}
}

func TestMergeOverridesSetFields(t *testing.T) {
	require.Equal(t, fullSettings(2), fullSettings(1).Merge(fullSettings(2)))
	// Set each field separately, so none is forgotten.
	for field := range reflect.TypeFor[model.Settings]().Fields() {
		over := &model.Settings{}
		reflect.ValueOf(over).Elem().FieldByIndex(field.Index).Set(reflect.ValueOf(fullSettings(4)).Elem().FieldByIndex(field.Index))
		merged := fullSettings(1).Merge(over)
		for other := range reflect.TypeFor[model.Settings]().Fields() {
			want := fullSettings(1)
			if other.Name == field.Name {
				want = over
			}
			require.Equal(t, reflect.ValueOf(want).Elem().FieldByIndex(other.Index).Interface(),
				reflect.ValueOf(merged).Elem().FieldByIndex(other.Index).Interface(), "%s after %s was set", other.Name, field.Name)
		}
	}
}

func TestMergeKeepsUnsetFields(t *testing.T) {
	s := fullSettings(1)
	require.Equal(t, s, s.Merge(&model.Settings{}))
	require.Same(t, s, s.Merge(nil))
	require.Same(t, s, (*model.Settings)(nil).Merge(s))
	require.Nil(t, (*model.Settings)(nil).Merge(nil))
}

func TestMergeJoinsHeadersAndBody(t *testing.T) {
	a := &model.Settings{ExtraHeaders: map[string]string{"A": "1", "B": "1"}, ExtraBody: map[string]json.RawMessage{"a": nil}}
	b := &model.Settings{ExtraHeaders: map[string]string{"B": "2", "C": "2"}, ExtraBody: map[string]json.RawMessage{"b": nil}}
	m := a.Merge(b)
	require.Equal(t, map[string]string{"A": "1", "B": "2", "C": "2"}, m.ExtraHeaders)
	require.Len(t, m.ExtraBody, 2)
	require.Equal(t, map[string]string{"A": "1", "B": "1"}, a.ExtraHeaders, "neither side is modified")
	require.Equal(t, map[string]string{"B": "2", "C": "2"}, b.ExtraHeaders)
	require.Equal(t, b.ExtraHeaders, (&model.Settings{}).Merge(b).ExtraHeaders)
}

func TestMergeUsesAnEmptyStopList(t *testing.T) {
	m := (&model.Settings{Stop: []string{"x"}}).Merge(&model.Settings{Stop: []string{}})
	require.Empty(t, m.Stop)
}

func TestMergeIgnoresTheCaseOfHeaders(t *testing.T) {
	a := &model.Settings{ExtraHeaders: map[string]string{"X-Title": "1", "x-other": "1"}}
	b := &model.Settings{ExtraHeaders: map[string]string{"x-title": "2"}}
	require.Equal(t, map[string]string{"x-title": "2", "x-other": "1"}, a.Merge(b).ExtraHeaders)
	require.Equal(t, map[string]string{"X-Title": "1", "x-other": "1"}, b.Merge(a).ExtraHeaders)
}

func TestClonedSettingsShareNothing(t *testing.T) {
	require.Nil(t, (*model.Settings)(nil).Clone())
	s := &model.Settings{
		Temperature: new(0.5), TopP: new(0.6), Seed: new(int64(7)), ParallelToolCalls: new(true), Stop: []string{"a"},
		ExtraHeaders: map[string]string{"h": "1"}, ExtraBody: map[string]json.RawMessage{"b": nil, "c": json.RawMessage("1")}, Thinking: "low", MaxTokens: 9,
		NativeTools: []model.NativeTool{{Kind: "k"}},
	}
	c := s.Clone()
	require.Equal(t, s, c)
	*s.Temperature, *s.TopP, *s.Seed, *s.ParallelToolCalls, s.Stop[0], s.ExtraHeaders["h"] = 0, 0, 0, false, "b", "2"
	s.NativeTools[0].Kind = "other"
	s.ExtraBody["c"][0] = '2'
	delete(s.ExtraBody, "b")
	require.Equal(t, &model.Settings{
		Temperature: new(0.5), TopP: new(0.6), Seed: new(int64(7)), ParallelToolCalls: new(true), Stop: []string{"a"},
		ExtraHeaders: map[string]string{"h": "1"}, ExtraBody: map[string]json.RawMessage{"b": nil, "c": json.RawMessage("1")}, Thinking: "low", MaxTokens: 9,
		NativeTools: []model.NativeTool{{Kind: "k"}},
	}, c)
	require.Equal(t, &model.Settings{}, (&model.Settings{}).Clone())
}

func TestSettingsArePrintedWithoutValues(t *testing.T) {
	s := &model.Settings{MaxTokens: 9, ExtraHeaders: map[string]string{"X-Key": "secret"}, ExtraBody: map[string]json.RawMessage{"user": json.RawMessage(`"secret"`)}}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
		require.Equal(t, `{"max_tokens":9,"extra_headers":{"X-Key":"[hidden]"},"extra_body":{"user":"[hidden]"}}`, fmt.Sprintf(verb, s))
	}
}

// TestMergeTakesEachFieldOfItsOwn merges settings with one field each.
func TestMergeTakesEachFieldOfItsOwn(t *testing.T) {
	base := model.Settings{MaxTokens: 1, ServiceTier: "a", Thinking: "low", NativeTools: []model.NativeTool{{Kind: "a"}}, CompactAt: 1}
	for name, set := range map[string]func(*model.Settings){
		"MaxTokens":         func(s *model.Settings) { s.MaxTokens = 2 },
		"Temperature":       func(s *model.Settings) { s.Temperature = new(0.0) },
		"TopP":              func(s *model.Settings) { s.TopP = new(0.0) },
		"Stop":              func(s *model.Settings) { s.Stop = []string{"b"} },
		"Seed":              func(s *model.Settings) { s.Seed = new(int64(0)) },
		"ParallelToolCalls": func(s *model.Settings) { s.ParallelToolCalls = new(false) },
		"Thinking":          func(s *model.Settings) { s.Thinking = "high" },
		"ServiceTier":       func(s *model.Settings) { s.ServiceTier = "b" },
		"NativeTools":       func(s *model.Settings) { s.NativeTools = []model.NativeTool{} },
		"CompactAt":         func(s *model.Settings) { s.CompactAt = 2 },
		"ExtraHeaders":      func(s *model.Settings) { s.ExtraHeaders = map[string]string{"a": "b"} },
		"ExtraBody":         func(s *model.Settings) { s.ExtraBody = map[string]json.RawMessage{"a": json.RawMessage("1")} },
	} {
		var over model.Settings
		set(&over)
		want := base
		set(&want)
		require.Equal(t, &want, base.Merge(&over), name)
	}
}
