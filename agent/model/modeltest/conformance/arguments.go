// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"encoding/json"
	"math/big"
	"runtime"
	"strings"

	"github.com/ponte-go/ponte/agent/model"
)

// args returns arguments in the form in which they are compared: as they are, or where the provider sends JSON values in
// one spelling of that value.
func (s *subject) args(args string) string {
	if !s.h.ArgsAsJSON || !json.Valid([]byte(args)) {
		return args
	}
	dec := json.NewDecoder(strings.NewReader(args))
	dec.UseNumber()
	var v any
	_ = dec.Decode(&v)
	return asJSON(plainNumbers(v))
}

// plainNumbers replaces the numbers within v by what they are worth, to the last digit.
func plainNumbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		if len(v) > 64 || strings.ContainsAny(string(v), "eE") { // what 1e999999999 is worth takes too long to write
			return v
		}
		if r, ok := new(big.Rat).SetString(string(v)); ok {
			return struct{ Number string }{r.RatString()} // which a string is not
		}
	case []any:
		for i := range v {
			v[i] = plainNumbers(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = plainNumbers(v[name])
		}
	}
	return v
}

// testStreamedArguments looks at a stream alone: some wires have no way to say this in one piece.
func testStreamedArguments(s *subject) {
	j := s.joined()
	msg := s.answer(question("How is the weather?"), j.sink)
	s.saidWhatTheProviderDid(msg)
	j.agree(msg)
}

// testLongArguments also counts what is allocated: arguments that are put together anew for every piece take space that
// grows with the square of their length.
func testLongArguments(s *subject) {
	req := question("How is the weather?")
	s.saidWhatTheProviderDid(s.answer(req, nil))
	s.saidWhatTheProviderDid(s.answer(req, func(model.Delta) error { return nil }))
	testStreamedArguments(s)
	if s.h.Unscripted {
		return
	}
	allocated := func(m model.Model) float64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, err := m.Generate(s.t.Context(), req, func(model.Delta) error { return nil }); err != nil {
			s.t.Fatalf("Generate failed: %v", err)
		}
		runtime.ReadMemStats(&after)
		return float64(after.TotalAlloc - before.TotalAlloc)
	}
	quarter := s.scenario
	quarter.Answer = longArguments(len(longCall.Answer.Parts[0].Args) / 4)
	short := s.h.New(s.t, quarter)
	allocated(short) // whatever is made once
	if a, b := allocated(short), allocated(s.m); b > 8*a {
		s.t.Errorf("a stream with arguments of four times the length takes %.1f times the space, %.0f MiB", b/a, b/(1<<20))
	}
}
