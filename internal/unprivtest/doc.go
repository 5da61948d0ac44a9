// SPDX-License-Identifier: Apache-2.0

// Package unprivtest runs tests for which the permissions of files hold, also where all tests run
// as root.
package unprivtest
