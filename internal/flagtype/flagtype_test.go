package flagtype

import (
	"math"
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
	for text, want := range map[string]int64{
		"64": 64_000, "1500m": 1500, "-1": -1000, "1E": math.MaxInt64, "1e16": math.MaxInt64, "18446744073709553": math.MaxInt64,
		"99999999999999999999": math.MaxInt64, "1e30": math.MaxInt64, "-10E": math.MinInt64, "9223372036854775807m": math.MaxInt64,
	} {
		if err := fs.Set("cpu", text); err != nil || milli != want {
			t.Errorf("%s: %d, %v", text, milli, err)
		}
	}
	if err := fs.Set("cpu", "many"); err == nil {
		t.Error("many is accepted")
	}
}
