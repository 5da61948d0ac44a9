// SPDX-License-Identifier: Apache-2.0

// Package editortest has fakes of editors, and plays people and models who work on the same files:
// what is typed, saved and written must neither be lost nor be taken for something else.
package editortest
