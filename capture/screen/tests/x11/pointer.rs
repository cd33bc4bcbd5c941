//! The pointer and its buttons.

use capture::{
    Point,
    input::{Button, Buttons, Pointer},
};

use crate::{desktop::Desktop, watch::Watch};

const CORNERS: [[i32; 2]; 4] = [[0, 0], [799, 0], [799, 599], [0, 599]];

#[test]
fn peer_clicks_at_the_corners_are_told_at_the_pixel() {
    let desktop = Desktop::xvfb(82, &[]);
    let watch = Watch::start(&desktop);
    for at @ [x, y] in CORNERS {
        desktop.xdotool(&["mousemove", &x.to_string(), &y.to_string(), "click", "1"]);
        let (at, up) = (Point::from(at), Buttons(0));
        let told = watch.pointers();
        let steps = [up, Buttons(1), up].map(|buttons| Pointer { at, buttons });
        assert_eq!(told, steps);
    }
}

#[test]
fn peer_each_button_and_each_turn_of_the_wheel_is_told() {
    let desktop = Desktop::xvfb(82, &[]);
    let watch = Watch::start(&desktop);
    let turn = |dx, dy| Button::Wheel { dx, dy };
    let buttons = [
        Button::Left,
        Button::Middle,
        Button::Right,
        turn(0, -1),
        turn(0, 1),
        turn(-1, 0),
        turn(1, 0),
        Button::Back,
        Button::Forward,
    ];
    for (detail, button) in (1..).zip(buttons) {
        desktop.xdotool(&[
            "click",
            "--delay",
            "0",
            "--repeat",
            "2",
            &detail.to_string(),
        ]);
        let told = watch.pointers();
        let told: Vec<Vec<Button>> = told.iter().map(|at| at.buttons.iter().collect()).collect();
        assert_eq!(told, [vec![button], vec![], vec![button], vec![]]);
    }
}

#[test]
fn peer_a_pointer_that_is_moved_without_a_click_is_told() {
    let desktop = Desktop::xvnc(83);
    let watch = Watch::start(&desktop);
    desktop.xdotool(&["mousemove", "10", "20"]);
    desktop.xdotool(&["mousemove_relative", "--", "5", "-5"]);
    desktop.xdotool(&["mousemove_relative", "--", "0", "0"]);
    let told: Vec<Point> = watch.pointers().iter().map(|told| told.at).collect();
    assert_eq!(told, [[10, 20], [15, 15]].map(Point::from));
}
