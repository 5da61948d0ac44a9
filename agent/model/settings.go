// SPDX-License-Identifier: Apache-2.0

package model

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// Settings tunes a request in terms most providers share. A nil pointer or empty value means the
// provider's default. An adapter returns an error for a setting its provider does not support,
// rather than dropping it.
type Settings struct {
	// MaxTokens limits the length of the response.
	MaxTokens int `json:"max_tokens,omitempty"`
	// Temperature is usually between 0 and 2, TopP between 0 and 1.
	Temperature *float64 `json:"temperature,omitempty"`
	TopP        *float64 `json:"top_p,omitempty"`
	// Stop lists strings at which the model stops.
	Stop []string `json:"stop,omitempty"`
	// Seed asks for repeatable sampling.
	Seed *int64 `json:"seed,omitempty"`
	// ParallelToolCalls allows (true) or forbids (false) several calls in one response.
	ParallelToolCalls *bool `json:"parallel_tool_calls,omitempty"`
	// Thinking is the amount of reasoning before the answer: "off", "minimal", "low", "medium" or
	// "high".
	Thinking string `json:"thinking,omitempty"`
	// ServiceTier is the provider's name for a class of price and priority.
	ServiceTier string `json:"service_tier,omitempty"`
	// NativeTools are tools that the provider runs itself. They require [Info.NativeSearch] or
	// [Info.NativeFetch].
	NativeTools []NativeTool `json:"native_tools,omitempty"`
	// CompactAt, if not 0, lets the provider replace the older part of the conversation with a
	// summary as soon as a request has this many tokens. It requires [Info.NativeCompaction]. The
	// response then contains the summary, as a part of kind [PartOpaque], which takes the place of
	// everything before it when it is sent back. Each provider has its own minimum.
	CompactAt int `json:"compact_at,omitempty"`
	// ExtraHeaders and ExtraBody are added to the HTTP request. A key of ExtraBody replaces the
	// adapter's top-level field with that name. Their values may be secret: printed forms and the
	// JSON of Settings hide them.
	ExtraHeaders map[string]string          `json:"extra_headers,omitempty"`
	ExtraBody    map[string]json.RawMessage `json:"extra_body,omitempty"`
}

// Clone returns a copy that shares no memory with s. The clone of nil is nil.
func (s *Settings) Clone() *Settings {
	if s == nil {
		return nil
	}
	c := *s
	c.Temperature, c.TopP, c.Seed = clone(s.Temperature), clone(s.TopP), clone(s.Seed)
	c.ParallelToolCalls = clone(s.ParallelToolCalls)
	c.Stop, c.NativeTools = slices.Clone(s.Stop), slices.Clone(s.NativeTools)
	c.ExtraHeaders = maps.Clone(s.ExtraHeaders)
	c.ExtraBody = maps.Clone(s.ExtraBody)
	for name, value := range c.ExtraBody {
		c.ExtraBody[name] = slices.Clone(value)
	}
	return &c
}

func clone[T any](p *T) *T {
	if p == nil {
		return nil
	}
	return new(*p)
}

// Merge returns s with the settings of over taking precedence. Either may be nil.
func (s *Settings) Merge(over *Settings) *Settings {
	switch {
	case s == nil:
		return over
	case over == nil:
		return s
	}
	m := *s
	if over.MaxTokens != 0 {
		m.MaxTokens = over.MaxTokens
	}
	if over.Temperature != nil {
		m.Temperature = over.Temperature
	}
	if over.TopP != nil {
		m.TopP = over.TopP
	}
	if over.Stop != nil {
		m.Stop = over.Stop
	}
	if over.Seed != nil {
		m.Seed = over.Seed
	}
	if over.ParallelToolCalls != nil {
		m.ParallelToolCalls = over.ParallelToolCalls
	}
	if over.Thinking != "" {
		m.Thinking = over.Thinking
	}
	if over.ServiceTier != "" {
		m.ServiceTier = over.ServiceTier
	}
	if over.NativeTools != nil {
		m.NativeTools = over.NativeTools
	}
	if over.CompactAt != 0 {
		m.CompactAt = over.CompactAt
	}
	m.ExtraHeaders = unionHeaders(s.ExtraHeaders, over.ExtraHeaders)
	m.ExtraBody = union(s.ExtraBody, over.ExtraBody)
	return &m
}

// unionHeaders is like union, but ignores the case of names.
func unionHeaders(a, b map[string]string) map[string]string {
	if len(a) == 0 || len(b) == 0 {
		return union(a, b)
	}
	u := maps.Clone(a)
	for name := range b {
		maps.DeleteFunc(u, func(known, _ string) bool { return strings.EqualFold(known, name) })
	}
	maps.Copy(u, b)
	return u
}

func union[V any](a, b map[string]V) map[string]V {
	if len(a) == 0 {
		return b
	}
	u := maps.Clone(a)
	maps.Copy(u, b)
	return u
}
