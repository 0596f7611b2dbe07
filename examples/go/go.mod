module github.com/a3s-lab/code/examples/go

go 1.24

require github.com/a3s-lab/code/bindings-go v0.0.0

replace github.com/a3s-lab/code/bindings-go => ../../bindings-go
