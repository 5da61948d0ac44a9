module github.com/ponte-go/ponte/internal/bench/work

go 1.26.0
