// Charts of values over time. The browser loads this file only when a view shows a chart.
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { zone } from "./format";

export interface Line {
  label: string;
  color: string;
  dash?: number[];
  fill?: string;
  text: (v: number) => string;
}

export interface Colors {
  text: string;
  grid: string;
  font: string;
}

/** Hours and minutes: values are a minute apart. */
function timeText(v: number): string {
  return new Date(v * 1000).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });
}

/** Steps of the time axis in seconds, from one minute to a day. */
const steps = [1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440].map((minutes) => minutes * 60);

export function makeChart(element: HTMLElement, width: number, time: number[], values: (number | null)[][], lines: Line[], colors: Colors, axis: (v: number) => string): uPlot {
  return new uPlot(
    {
      width,
      height: 190,
      padding: [8, 34, 0, 0],
      cursor: { sync: { key: "trends" }, points: { size: 6 }, drag: { x: true, y: false } },
      legend: { show: true, live: true },
      scales: { y: { range: (_, min, max) => [Math.min(0, min ?? 0), (max ?? 1) > 0 ? (max ?? 1) * 1.08 : 1] } },
      series: [
        { value: (_, v) => (v === null || v === undefined ? "—" : timeText(v)), label: zone(Date.now()) },
        ...lines.map((line) => ({
          label: line.label, stroke: line.color, width: 1.75, dash: line.dash, fill: line.fill, points: { show: false }, spanGaps: false,
          value: (_: uPlot, v: number | null) => (v === null || v === undefined ? "—" : line.text(v)),
        })),
      ],
      axes: [
        { stroke: colors.text, font: colors.font, grid: { stroke: colors.grid, width: 1 }, ticks: { show: false }, size: 26, space: 70, incrs: steps, values: (_, at) => at.map(timeText) },
        { stroke: colors.text, font: colors.font, grid: { stroke: colors.grid, width: 1 }, ticks: { show: false }, size: 62, values: (_, at) => at.map(axis) },
      ],
    },
    [time, ...values] as uPlot.AlignedData,
    element,
  );
}
