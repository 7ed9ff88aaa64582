package nodepool

import (
	"testing"

	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// All controllers can be registered with one manager: their kinds are in the scheme, and their names are unique. No API server is
// needed.
func TestRegister(t *testing.T) {
	w := newWorld(t)
	mgr, err := ctrl.NewManager(&rest.Config{Host: "127.0.0.1:1"}, ctrl.Options{
		Scheme: w.Scheme(), Metrics: metricsserver.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: new(true)}, // the test may run more than once in a process
	})
	w.must(err)
	names := map[string]bool{}
	for _, c := range []interface {
		Name() string
		Register(ctrl.Manager) error
	}{
		&Hash{Client: w, Cloud: onlyFacts{}},
		&Readiness{Client: w, Clock: w.clock, Cloud: onlyFacts{}},
		&Validation{Client: w, Clock: w.clock, Cloud: onlyFacts{}},
		&Counter{Client: w, Cloud: onlyFacts{}},
		&RegistrationHealth{Client: w, Clock: w.clock, Cloud: onlyFacts{}, Health: NewHealth()},
	} {
		if names[c.Name()] {
			t.Errorf("%s is there twice", c.Name())
		}
		names[c.Name()] = true
		if err := c.Register(mgr); err != nil {
			t.Errorf("%s: %v", c.Name(), err)
		}
	}
}
