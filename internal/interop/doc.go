// SPDX-License-Identifier: Apache-2.0

// Package interop has no code, only tests: they run the built sample agent, examples/ideagent,
// against clients of the Agent Client Protocol that others wrote, and against a raw pipe that keeps
// no rule; and an agent in Genkit's own developer tools. It is a separate module, which keeps the
// dependencies of those clients out of the go.sum of the main module. README.md describes the
// tests, their requirements, and when they skip.
package interop
