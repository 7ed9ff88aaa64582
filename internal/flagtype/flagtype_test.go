package flagtype

import (
	"testing"

	"github.com/spf13/pflag"
)

func TestBool(t *testing.T) {
	for args, want := range map[string]bool{"--on=true": true, "--on=0": false, "--on": false, "--on=perhaps": false} {
		fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
		var on bool
		Bool(fs, &on, "on", false, "")
		err := fs.Parse([]string{args})
		if accepted := args == "--on=true" || args == "--on=0"; on != want || (err == nil) != accepted {
			t.Errorf("%s: %t, %v", args, on, err)
		}
	}
}

func TestCPU(t *testing.T) {
	fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
	var milli int64
	CPU(fs, &milli, "cpu", 0, "")
	if d := fs.Lookup("cpu").DefValue; d != "0" {
		t.Errorf("default is %q", d)
	}
	for text, want := range map[string]int64{"64": 64_000, "1500m": 1500, "-1": -1000} {
		if err := fs.Set("cpu", text); err != nil || milli != want {
			t.Errorf("%s: %d, %v", text, milli, err)
		}
	}
	if err := fs.Set("cpu", "many"); err == nil {
		t.Error("many is accepted")
	}
}
