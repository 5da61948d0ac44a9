// SPDX-License-Identifier: Apache-2.0

// Package languages has no code, only tests: they run the tools of lsptoolset with real language
// servers on projects that others wrote, and compare the answers with those of other tools. They run
// if PONTE_LANGUAGES is set. With "require", what is missing is an error.
package languages
