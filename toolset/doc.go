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
//	tools := toolset.Named("weather", toolset.Of(forecast))
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
// # Concurrency
//
// Toolsets and tools serve many runs at once, and the calls of one response run in parallel unless a tool is
// [Sequential]. State that belongs to one run lives in the [Instance] that [Toolset.Open] returns for it.
package toolset
