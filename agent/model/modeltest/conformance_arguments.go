// SPDX-License-Identifier: Apache-2.0

package modeltest

import (
	"encoding/json"
	"math/big"
	"runtime"
	"strings"

	"github.com/ponte-go/ponte/agent/model"
)

// args returns arguments in the form in which they are compared: unchanged or, if the provider
// sends JSON values, as normalised JSON.
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

// plainNumbers replaces the numbers within v by their exact values.
func plainNumbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		if len(v) > 64 || strings.ContainsAny(string(v), "eE") { // the value of 1e999999999 has too many digits
			return v
		}
		if r, ok := new(big.Rat).SetString(string(v)); ok {
			return struct{ Number string }{r.RatString()} // unlike any string
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

// testStreamedArguments tests streams only: some protocols cannot express this in an unstreamed
// response.
func testStreamedArguments(s *subject) {
	j := s.joined()
	msg := s.answer(question("How is the weather?"), j.sink)
	s.saidWhatTheProviderDid(msg)
	j.agree(msg)
}

// testLongArguments also measures allocations: if arguments are joined again for every piece,
// memory grows with the square of their length.
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
	allocated(short) // allocate what is made only once
	if a, b := allocated(short), allocated(s.m); b > 8*a {
		s.t.Errorf("streaming arguments of four times the length allocates %.1f times as much, %.0f MiB", b/a, b/(1<<20))
	}
}
