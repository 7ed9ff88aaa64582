package cli

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/karpenter-go/karpenter/internal/awsemu/control"
	"github.com/karpenter-go/karpenter/local/cluster"
)

func (a *app) aws() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "aws",
		Short: "Control the emulated AWS account: capacity, prices, faults, interruptions",
		Long: "Control the emulated AWS account: limit capacity, set prices and quotas, interrupt instances, inject faults, and\n" +
			"list instances and API calls. TYPE, ZONE and OP are patterns in which * matches any text.",
		Example: "  karpenter-local aws ice '*/us-east-1a/spot'\n" +
			"  karpenter-local aws interrupt --random 2\n" +
			"  karpenter-local aws throttle CreateFleet 1",
		Args: usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return usageError{fmt.Errorf("no command given. Run %s --help", cmd.CommandPath())}
		},
	}
	cmd.AddCommand(
		a.awsICE(), a.awsPrice(), a.awsQuota(), a.awsInterrupt(), a.awsStop(), a.awsStart(), a.awsEvent(), a.awsBoot(),
		a.awsReserve(), a.awsGroup(), a.awsShift(), a.awsLag(),
		a.awsThrottle(), a.awsFail(), a.awsHang(), a.awsClear(), a.awsReset(),
		a.awsInstances(), a.awsBill(), a.awsCalls(),
	)
	return cmd
}

// emulatorCommand completes cmd: the command calls run with a client of the emulator. It returns an error if the directory
// has no cluster.
func (a *app) emulatorCommand(
	cmd *cobra.Command, args cobra.PositionalArgs,
	run func(ctx context.Context, c control.Client, args []string) error,
) *cobra.Command {
	cmd.Args = usage(args)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := a.open(cluster.Options{})
		if err != nil {
			return err
		}
		if !c.Dir().Exists() {
			return fmt.Errorf("open %s: %w", c.Dir(), cluster.ErrNone)
		}
		return reachable(run(cmd.Context(), control.Client{BaseURL: c.Emulator()}, args))
	}
	return cmd
}

// reachable wraps transport errors in errUnreachable.
func reachable(err error) error {
	var transport *url.Error
	if errors.As(err, &transport) {
		return fmt.Errorf("%w: %w", errUnreachable, err)
	}
	return err
}

// parsePool parses TYPE/ZONE/CAPACITY. Each part is a pattern. A missing part matches anything.
func parsePool(text string) (control.Pool, error) {
	words := strings.Split(text, "/")
	if len(words) > 3 {
		return control.Pool{}, usageError{fmt.Errorf("%q is not a capacity pool, use TYPE/ZONE/CAPACITY", text)}
	}
	words = append(words, "", "")
	return control.Pool{Type: words[0], Zone: words[1], Capacity: words[2]}, nil
}

// parseNumber parses a decimal number of 0 or more. what is its name in the error.
func parseNumber(what, text string) (float64, error) {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || n < 0 {
		return 0, usageError{fmt.Errorf("%s: %q is not a number of 0 or more", what, text)}
	}
	return n, nil
}

func (a *app) awsICE() *cobra.Command {
	var limit int
	var back bool
	cmd := a.emulatorCommand(&cobra.Command{
		Use:   "ice TYPE/ZONE/CAPACITY",
		Short: "Limit the capacity of instance pools (insufficient capacity errors), or restore it",
		Long: "Limit the number of instances that matching pools can run. Launches beyond it fail with\n" +
			"InsufficientInstanceCapacity. Running instances are not affected. An omitted part of the pattern matches any value.",
		Example: "  karpenter-local aws ice m7a.large/us-east-1a/spot\n" +
			"  karpenter-local aws ice 'c7*/*/on-demand' --limit 2",
	}, cobra.ExactArgs(1), func(ctx context.Context, c control.Client, args []string) error {
		pool, err := parsePool(args[0])
		if err != nil {
			return err
		}
		if back {
			return c.ClearCapacity(ctx, pool)
		}
		return c.SetCapacity(ctx, control.Capacity{Pool: pool, Limit: limit})
	})
	cmd.Flags().IntVar(&limit, "limit", 0, "Number of instances that each pool can run")
	cmd.Flags().BoolVar(&back, "clear", false, "Restore the capacity")
	return cmd
}

func (a *app) awsPrice() *cobra.Command {
	var back bool
	cmd := a.emulatorCommand(&cobra.Command{
		Use:   "price TYPE[/ZONE] USD",
		Short: "Set a price in USD/h: the spot price with a zone, the on-demand price without",
		Example: "  karpenter-local aws price m5.large/us-east-1a 0.09\n" +
			"  karpenter-local aws price m5.large 0.2",
	}, cobra.RangeArgs(0, 2), func(ctx context.Context, c control.Client, args []string) error {
		if back {
			return c.ClearPrices(ctx)
		}
		if len(args) != 2 {
			return usageError{fmt.Errorf("price needs TYPE[/ZONE] and USD, or --clear")}
		}
		pool, err := parsePool(args[0])
		if err != nil {
			return err
		}
		usd, err := parseNumber("price", args[1])
		if err != nil {
			return err
		}
		return c.SetPrice(ctx, control.Price{Pool: pool, USD: usd})
	})
	cmd.Flags().BoolVar(&back, "clear", false, "Restore all prices")
	return cmd
}

func (a *app) awsQuota() *cobra.Command {
	return a.emulatorCommand(&cobra.Command{
		Use:     "quota spot|on-demand VCPUS",
		Short:   "Set the vCPU quota of the account; -1 removes it",
		Example: "  karpenter-local aws quota spot 64\n  karpenter-local aws quota spot -- -1",
	}, cobra.ExactArgs(2), func(ctx context.Context, c control.Client, args []string) error {
		n, err := strconv.Atoi(args[1])
		if err != nil {
			return usageError{fmt.Errorf("VCPUS: %q is not an integer", args[1])}
		}
		return c.SetQuota(ctx, control.Quota{Capacity: args[0], VCPUs: n})
	})
}

func (a *app) awsBoot() *cobra.Command {
	var (
		boot  control.Boot
		delay time.Duration
		back  bool
	)
	cmd := a.emulatorCommand(&cobra.Command{
		Use:   "boot",
		Short: "Change how new instances boot",
		Long: "Change how new instances boot: the delay until they join the cluster, or that they never join. The change applies to\n" +
			"instances that are launched later.",
		Example: "  karpenter-local aws boot --delay 30s\n" +
			"  karpenter-local aws boot --never --type m5.large",
	}, cobra.NoArgs, func(ctx context.Context, c control.Client, _ []string) error {
		if back {
			return c.ClearBoot(ctx)
		}
		boot.Delay = control.Duration(delay)
		return c.SetBoot(ctx, boot)
	})
	cmd.Flags().StringVar(&boot.Type, "type", "", "Instance types, as a pattern (default: all)")
	cmd.Flags().DurationVar(&delay, "delay", 0, "Time from launch to boot")
	cmd.Flags().BoolVar(&boot.Never, "never", false, "Instances run, but never join the cluster")
	cmd.Flags().StringVar(&boot.Console, "console", "", "With --never: the console output of the instances")
	cmd.Flags().BoolVar(&back, "clear", false, "Restore the default")
	return cmd
}
