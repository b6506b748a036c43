module github.com/rdma-gauntlet/gauntlet

go 1.26.8
