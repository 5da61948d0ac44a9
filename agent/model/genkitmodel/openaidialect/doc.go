// SPDX-License-Identifier: Apache-2.0

// Package openaidialect supports Genkit's plugins compat_oai and openai, whose models become Ponte
// models:
//
//	m, err := openaidialect.New(openaidialect.Config{Name: "gpt-5-mini", APIKey: key})
//
// If a program already has a plugin, add [Options] to its options and wrap its model:
//
//	plugin := &openai.OpenAI{APIKey: key, Opts: openaidialect.Options()}
//	…
//	m, err := genkitmodel.New(genkitModel, genkitmodel.Config{Dialect: openaidialect.Dialect()})
//
// # What the plugin loses
//
// The plugin decodes arguments into float64, fails the whole response if arguments are not JSON,
// and skips chunks with different ids. It drops reasoning, and in streams also the usage details
// and the point at which a response broke off. [Options] reads the response together with the SDK,
// and message and deltas are made from that. Without Options they are made from the plugin's
// response, with all of these problems, and [model.Settings.ExtraHeaders] is an error.
//
// Some problems remain, because the plugin writes the request: strict tool schemas are not strict.
// The result of a tool that is not JSON arrives as a JSON string, in quotes. PDF and audio are
// errors, because the plugin would send them as images. Events of a stream are limited to 1 MiB.
//
// Nothing is retried. Wrap the model in modelwrap.Retry.
package openaidialect
