// SPDX-License-Identifier: Apache-2.0

// Package openaidialect speaks to Genkit's plugins compat_oai and openai, whose models then are models of Ponte:
//
//	m, err := openaidialect.New(openaidialect.Config{Name: "gpt-5-mini", APIKey: key})
//
// For a plugin that a program has already, add [Options] to the plugin's own and wrap its model:
//
//	plugin := &openai.OpenAI{APIKey: key, Opts: openaidialect.Options()}
//	…
//	m, err := genkitmodel.New(genkitModel, genkitmodel.Config{Dialect: openaidialect.Dialect()})
//
// # What the plugin loses
//
// The plugin decodes arguments into float64, fails the whole response over arguments that are no JSON and skips chunks
// whose ids differ; it drops reasoning, in streams also the details of the usage and the place where the answer broke
// off. [Options] reads the answer along with the SDK, and message and deltas are made of that. Without Options they are
// what the plugin makes of it, with all of these faults, and [model.Settings.ExtraHeaders] fail.
//
// What remains, because the plugin writes the request: strict schemas of tools are not strict; the result of a tool that
// is no JSON arrives as a JSON string, in quotes; PDF and audio are refused, which the plugin would send as images. Events
// of a stream are bounded by 1 MiB.
//
// Nothing is retried: wrap the model in modelwrap.Retry.
package openaidialect
