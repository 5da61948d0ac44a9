// SPDX-License-Identifier: Apache-2.0

// Package recordings holds Ponte's adapters against recorded answers of real providers. It has nothing but tests. See README.md.
package recordings
