// SPDX-License-Identifier: Apache-2.0

// Package toolset defines the tools an agent can call. A [Tool] wraps a Go function and a JSON schema derived from its
// argument struct. A [Toolset] supplies tools to a run, and toolsets compose.
//
//	type Query struct {
//		City string `json:"city" jsonschema:"description=City to look up" validate:"required"`
//		Days int    `json:"days,omitempty" validate:"omitempty,min=1,max=14"`
//	}
//
//	forecast := toolset.Func("forecast", "Forecast for a city.",
//		func(ctx context.Context, run *toolset.RunContext[Deps], q Query) (Forecast, error) {
//			return run.Deps.Weather.Forecast(ctx, q.City, q.Days)
//		})
//	tools := toolset.Named(toolset.Of(forecast), "weather")
//
// # Arguments
//
// The schema follows the struct's json, jsonschema and validate tags. Arguments are checked before the function runs:
// unknown and missing fields, types, bounds, and every rule in the validate tags. Invalid arguments are reported to the
// model, with the field, the rule and the value, and the model may try again. The function is called only with valid
// arguments.
//
// # Outcomes
//
// A tool returns a value, or an error for the model made with [Retry], [Failed] or [Denied]. Any other error ends the
// run.
//
// # Composition
//
// Combinators take a toolset and return a toolset, so they can be nested:
//
//	tools := toolset.Combine(
//		toolset.Prefixed(toolset.Limited(database, 4), "db_"),
//		toolset.Approved(files, whenOutsideOfWorkspace),
//		toolset.Searchable(toolset.Adapt(office, officeDeps), toolset.Search[Deps]{}),
//	)
//
// The combinators are:
//
//   - [Combine] joins toolsets, [Named] names one, [Instructed] adds instructions, [Defaults] sets options.
//   - [Filtered], [Prepared] and [PreparedAll] choose and change what the model sees in each step. [Searchable] hides
//     tools until the model searches for them.
//   - [Prefixed], [Renamed] and [RenamedFunc] change names. The tool itself still sees its original name.
//   - [Wrapped] adds hooks around calls, [Approved] requires approval, [Limited] and [LimitedPerRun] limit the number of
//     concurrent calls.
//   - [Adapt] converts a toolset for narrower deps to one for wider deps.
//   - [Stateless] refuses tools that keep state in memory.
//   - [PerRun] and [PerStep] build toolsets on demand. [External] declares tools that run elsewhere.
//
// A combinator sees what the toolset inside it offers. Combinations of static tools are built once and add no cost to a
// run. Other combinations do work only when something has changed since the previous step, and return the same slice
// until then.
//
// Package toolsettest calls a tool from a unit test, and checks that an implementation of [Toolset] keeps the contract.
//
// # Concurrency
//
// Toolsets and tools serve many runs at once. The calls of one response run in parallel unless a tool is [Sequential].
// State of a single run belongs in the [Instance] that [Toolset.Open] returns for it.
package toolset
