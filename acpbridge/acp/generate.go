package acp

//go:generate go run github.com/ponte-go/ponte/internal/acpgen
