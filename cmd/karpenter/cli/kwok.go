package cli

import (
	"github.com/karpenter-go/karpenter/internal/operator"
	"github.com/karpenter-go/karpenter/provider/kwok"
)

// newKWOK returns the KWOK provider, whose nodes have no machines. It needs only the cluster.
func newKWOK(env operator.Env, own *kwok.Settings) (operator.Provider, error) {
	types, err := own.Types()
	if err != nil {
		return operator.Provider{}, err
	}
	p := kwok.New(kwok.Config{
		Client: env.Client, Reader: env.Live, Nodes: env.Writer, Clock: env.Clock, Types: types, Overlay: env.Overlay,
	})
	return operator.Provider{Cloud: p, Controllers: []operator.Controller{p.Later()}}, nil
}
