import { useEffect, useRef } from "preact/hooks";
import type { Trends } from "../api";
import type { Line } from "../chart";
import { count, dollars, duration, percent, perHour } from "../format";
import { Blank, Failed, Loading, Section } from "../ui/parts";
import { theme } from "../ui/theme";
import { useResource } from "../ui/use";

type Maker = (color: (name: string) => string) => Line[];

function summary(name: string, values: (number | null)[], text: (v: number) => string): string {
  const known = values.filter((v): v is number => v !== null);
  if (!known.length) return name + ": unknown";
  return `${name}: ${text(known.at(-1)!)} now, between ${text(Math.min(...known))} and ${text(Math.max(...known))}`;
}

function Chart({ time, values, lines, axis, label }: { time: number[]; values: (number | null)[][]; lines: Maker; axis: (v: number) => string; label: string }) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<{ setData(d: unknown): void; destroy(): void } | null>(null);
  const current = useRef(values);
  current.current = values;
  useEffect(() => {
    let stopped = false;
    let observer: ResizeObserver | null = null;
    void import("../chart").then(({ makeChart }) => {
      if (stopped || !box.current) return;
      const style = getComputedStyle(box.current);
      const color = (name: string) => style.getPropertyValue("--" + name).trim();
      const made = makeChart(box.current, box.current.clientWidth, time, current.current, lines(color), { text: color("muted"), grid: color("line"), font: "11px " + color("sans") }, axis);
      plot.current = made as unknown as typeof plot.current;
      observer = new ResizeObserver(() => box.current && made.setSize({ width: box.current.clientWidth, height: 190 }));
      observer.observe(box.current);
    });
    return () => {
      stopped = true;
      observer?.disconnect();
      plot.current?.destroy();
      plot.current = null;
    };
  }, [theme.value]);
  useEffect(() => plot.current?.setData([time, ...values]), [time]);
  return <div class="chart" ref={box} role="img" aria-label={label} />;
}

export function TrendsView() {
  const { data, failure, reload } = useResource<Trends>("trends", 15);
  if (!data) return failure ? <Failed failure={failure} retry={reload} /> : <Loading what="trends" />;
  if (data.time.length < 2) return <Blank title="No trend yet" text="The controller keeps figures in memory from its start on. The first appear after a minute or two." />;
  const span = duration((data.time.at(-1)! - data.time[0]) * 1000);
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Trends">
      <div class="wrap">
        <p class="lede">The last <b>{span}</b>, kept in the memory of the controller. Gaps are times at which nothing is known.</p>
        <Section title="Price of all nodes">
          <Chart time={data.time} values={[data.dollarsPerHour, data.floorPerHour]} axis={dollars} label={[summary("price", data.dollarsPerHour, perHour), summary("lower bound", data.floorPerHour, perHour)].join("; ")}
            lines={(c) => [{ label: "price", color: c("accent"), text: perHour }, { label: "lower bound", color: c("muted"), dash: [5, 4], text: perHour }]} />
        </Section>
        <Section title="Nodes and pending pods">
          <Chart time={data.time} values={[data.nodes, data.pending]} axis={count} label={[summary("nodes", data.nodes, count), summary("pending pods", data.pending, count)].join("; ")}
            lines={(c) => [{ label: "nodes", color: c("match"), text: count }, { label: "pending pods", color: c("warn-line"), dash: [2, 3], text: count }]} />
        </Section>
        <Section title="Requested share of allocatable">
          <Chart time={data.time} values={[data.cpu, data.memory]} axis={(v) => percent(v)} label={[summary("cpu", data.cpu, percent), summary("memory", data.memory, percent)].join("; ")}
            lines={(c) => [{ label: "cpu", color: c("accent"), text: (v) => percent(v) }, { label: "memory", color: c("state-disrupting"), dash: [6, 3], text: (v) => percent(v) }]} />
        </Section>
      </div>
    </div>
  );
}
