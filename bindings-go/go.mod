module github.com/a3s-lab/code/bindings-go

go 1.24
