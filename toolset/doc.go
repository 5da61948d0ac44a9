// SPDX-License-Identifier: Apache-2.0

// Package toolset gives an agent its tools. A [Tool] is a plain Go function with a JSON schema made from its argument
// struct; a [Toolset] offers tools to a run; toolsets compose.
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
// unknown and missing fields, types, bounds, and every rule of the validate tags. What is wrong goes back to the model
// as a retry that names the field, the rule and the value; the function only ever sees valid arguments.
//
// # Outcomes
//
// A tool returns a value, or an error that says what the model should be told: [Retry], [Failed] or [Denied]. Any other
// error ends the run.
//
// # Composition
//
// A function that takes a toolset returns another one, so that they stack:
//
//	tools := toolset.Combine(
//		toolset.Prefixed(toolset.Limited(database, 4), "db_"),
//		toolset.Approved(files, whenOutsideOfWorkspace),
//		toolset.Searchable(toolset.Adapt(office, officeDeps), toolset.Search[Deps]{}),
//	)
//
// There are several kinds of them:
//
//   - [Combine] joins, [Named] names, [Instructed] adds instructions, [Defaults] sets options.
//   - [Filtered], [Prepared] and [PreparedAll] choose and change per step what the model sees; [Searchable] hides tools until
//     they are searched for.
//   - [Prefixed], [Renamed] and [RenamedFunc] change names; the tool itself keeps to its own.
//   - [Wrapped] surrounds calls with hooks, [Approved] has them approved, [Limited] and [LimitedPerRun] bound how many
//     there are at a time.
//   - [Adapt] lets a toolset for narrower deps serve an agent with wider ones.
//   - [PerRun] and [PerStep] build toolsets when they are needed; [External] declares tools that somebody else runs.
//
// The outer function works on what the inner one offers. What is put together of fixed tools, without a function that
// decides per step, is put together once: it costs a run nothing. The others look only at what has changed since the step
// before, and list the same slice while nothing has.
//
// Package toolsettest calls a tool from a unit test and checks that other implementations of [Toolset] keep the contract.
//
// # Concurrency
//
// Toolsets and tools serve many runs at once, and the calls of one response run in parallel unless a tool is
// [Sequential]. State that belongs to one run lives in the [Instance] that [Toolset.Open] returns for it.
package toolset
