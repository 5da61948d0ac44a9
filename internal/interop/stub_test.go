//go:build unix

package interop_test

func clientMain([]string) int { return 0 }
