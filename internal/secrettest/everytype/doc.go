// SPDX-License-Identifier: Apache-2.0

// Package everytype tests every exported type of the main module with package secrettest. It is apart so that modules that use secrettest
// do not depend on all of Ponte.
package everytype
