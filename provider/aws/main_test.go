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
	debug.SetGCPercent(400) // every test creates an account, which is garbage after the test
	os.Exit(m.Run())
}
