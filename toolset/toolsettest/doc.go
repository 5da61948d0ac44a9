// SPDX-License-Identifier: Apache-2.0

// Package toolsettest helps to test toolsets. [Call] runs one tool of a toolset as an agent would. [Conformance] checks
// that an implementation of [toolset.Toolset] keeps the contract.
//
//	func TestForecast(t *testing.T) {
//		run := &toolset.RunContext[Deps]{Deps: Deps{Weather: fake}}
//		res, err := toolsettest.Call(t.Context(), weather.Tools(), run, "forecast", `{"city":"Oslo"}`)
//		…
//	}
//
//	func TestToolset(t *testing.T) {
//		toolsettest.Conformance(t, weather.Tools, Deps{Weather: fake},
//			toolsettest.Case{Tool: "forecast", Args: `{"city":"Oslo"}`})
//	}
package toolsettest
