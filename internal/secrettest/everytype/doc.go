// SPDX-License-Identifier: Apache-2.0

// Package everytype tests every exported type of the main module with package secrettest. It is
// separate from secrettest to keep modules that use secrettest from depending on all of Ponte.
package everytype
