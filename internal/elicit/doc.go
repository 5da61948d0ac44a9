// SPDX-License-Identifier: Apache-2.0

// Package elicit reads the forms of questions, and checks answers against them. The Agent Client
// Protocol defines the forms: flat objects whose fields are strings, numbers, booleans and choices.
package elicit
