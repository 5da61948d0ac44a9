// Package modeltest has models for tests: [Func] answers with a function, [Script] with a list of responses. Both stream
// when they are asked to, count requests, and never leave the process.
package modeltest
