package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/karpenter-go/karpenter/internal/awsemu/control"
)

func (a *app) awsReserve() *cobra.Command {
	var (
		r      control.Reservation
		lasts  time.Duration
		cancel bool
		cmd    *cobra.Command
	)
	cmd = a.emulatorCommand(&cobra.Command{
		Use:   "reserve TYPE/ZONE | --cancel ID",
		Short: "Buy capacity in advance, or give it back; prints the reservation's id",
		Example: "  karpenter-local aws reserve m5.large/us-east-1a --count 4 --tag team=web\n" +
			"  karpenter-local aws reserve p5.48xlarge/us-east-1a --block --for 24h\n" +
			"  karpenter-local aws reserve --cancel cr-0123456789abcdef0",
	}, cobra.ExactArgs(1), func(ctx context.Context, c control.Client, args []string) error {
		if cancel {
			return c.Cancel(ctx, args[0])
		}
		pool, err := parsePool(args[0])
		if err != nil {
			return err
		}
		if pool.Type == "" || pool.Zone == "" || pool.Capacity != "" {
			return usageError{fmt.Errorf("want TYPE/ZONE, not %q", args[0])}
		}
		r.Type, r.Zone, r.For = pool.Type, pool.Zone, control.Duration(lasts)
		id, err := c.Reserve(ctx, r)
		if err != nil {
			return err
		}
		fmt.Fprintln(cmd.OutOrStdout(), id)
		return nil
	})
	f := cmd.Flags()
	f.IntVar(&r.Count, "count", 1, "instances")
	f.BoolVar(&r.Targeted, "targeted", false, "only launches that name it use it")
	f.BoolVar(&r.Block, "block", false, "a capacity block, which ends")
	f.BoolVar(&r.Interruptible, "interruptible", false, "one that AWS may take back")
	f.DurationVar(&lasts, "for", 0, "how long it lasts; default until cancelled, a block a day")
	f.StringToStringVar(&r.Tags, "tag", nil, "tags, as KEY=VALUE")
	f.BoolVar(&cancel, "cancel", false, "give the reservation back; its instances run on")
	return cmd
}

func (a *app) awsGroup() *cobra.Command {
	var p control.Placement
	var cmd *cobra.Command
	cmd = a.emulatorCommand(&cobra.Command{
		Use:     "group NAME cluster|spread|partition",
		Short:   "Make a placement group; prints its id",
		Example: "  karpenter-local aws group racks partition --partitions 3",
	}, cobra.ExactArgs(2), func(ctx context.Context, c control.Client, args []string) error {
		p.Name, p.Strategy = args[0], args[1]
		id, err := c.Place(ctx, p)
		if err != nil {
			return err
		}
		fmt.Fprintln(cmd.OutOrStdout(), id)
		return nil
	})
	cmd.Flags().IntVar(&p.Partitions, "partitions", 0, "how many; default 7")
	return cmd
}

func (a *app) awsShift() *cobra.Command {
	var lasts time.Duration
	var back bool
	cmd := a.emulatorCommand(&cobra.Command{
		Use:     "shift ZONE | --clear [ZONE]",
		Short:   "Shift traffic away from a zone (ARC zonal shift), or back",
		Example: "  karpenter-local aws shift us-east-1a --for 30m\n  karpenter-local aws shift --clear",
	}, cobra.MaximumNArgs(1), func(ctx context.Context, c control.Client, args []string) error {
		zone := append(args, "")[0]
		switch {
		case back:
			return c.ShiftBack(ctx, zone)
		case zone == "":
			return usageError{fmt.Errorf("want a zone, or --clear")}
		}
		return c.ShiftAway(ctx, control.Shift{Zone: zone, For: control.Duration(lasts)})
	})
	cmd.Flags().DurationVar(&lasts, "for", time.Hour, "how long")
	cmd.Flags().BoolVar(&back, "clear", false, "end the shift away from the zone, or all")
	return cmd
}

func (a *app) awsLag() *cobra.Command {
	return a.emulatorCommand(&cobra.Command{
		Use:   "lag DURATION",
		Short: "Hide what is new from the describe calls for so long; 0s ends it",
		Long: "Hide what is new from the describe calls for so long, as EC2's eventual consistency has it: an instance that was\n" +
			"just launched is not found, a launch template that was just made cannot be launched from. 0s ends it.",
		Example: "  karpenter-local aws lag 5s\n  karpenter-local aws lag 0s",
	}, cobra.ExactArgs(1), func(ctx context.Context, c control.Client, args []string) error {
		d, err := time.ParseDuration(args[0])
		if err != nil || d < 0 {
			return usageError{fmt.Errorf("duration is %q, want one such as 5s", args[0])}
		}
		return c.SetLag(ctx, control.Lag{For: control.Duration(d)})
	})
}
