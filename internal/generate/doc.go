// SPDX-License-Identifier: Apache-2.0

// Package generate makes JSON values that match a JSON schema, for the double modeltest.Auto.
package generate
