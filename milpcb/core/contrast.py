"""Which letters can be read on a colour."""


def ink(colour: str) -> str:
    """Return black or white, whichever has the greater contrast to a colour such as #0072B2 (as WCAG 2 counts it).

    It is a shade beside either, which pages for the dark do not turn as they turn what stands on the page itself.
    """
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    light = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    luminance = 0.2126 * light[0] + 0.7152 * light[1] + 0.0722 * light[2]
    return "#010101" if (luminance + 0.05) ** 2 > 0.05 * 1.05 else "#FEFEFE"
