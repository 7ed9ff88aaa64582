package aws_test

import (
	"os"
	"runtime/debug"
	"testing"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	debug.SetGCPercent(400) // every test makes an account of its own, and forgets it
	os.Exit(m.Run())
}
